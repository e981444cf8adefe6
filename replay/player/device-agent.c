/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent of a guest in which somebody copies a picture, and pastes what the
 * client copies. The client is told that there is something in the clipboard,
 * asks for it and gets it; then it is asked for what it has.
 */
#include "device.h"

#include <spice/vd_agent.h>
#include <string.h>

#include "pattern.h"

/* Not text: that would be checked and changed on the way. */
#define CLIPBOARD_TYPE VD_AGENT_CLIPBOARD_IMAGE_PNG

typedef struct DeviceAgent {
    Device device;
    SpiceCharDeviceInstance instance;
    bool is_started;
    bool client_is_ready;       /* has said what it can */
    bool is_grabbed;            /* has been told */

    GByteArray *output;         /* chunks for the library */
    guint output_read;          /* of them */
    GByteArray *input;          /* chunks that are not whole */
    GByteArray *message;        /* the client's chunks until they are a message */

    uint64_t size;
    uint64_t sent, received;    /* of clipboards */
    char *sent_sha256, *received_sha256;    /* NULL before */
} DeviceAgent;

/* What precedes a clipboard's data, and in requests and grabs stands alone. */
typedef struct SelectionHeader {
    uint8_t selection;
    uint8_t reserved[3];
    uint32_t type;
} SelectionHeader;

static DeviceAgent *agent_of(SpiceCharDeviceInstance *instance)
{
    return SPICE_CONTAINEROF(instance, DeviceAgent, instance);
}

static void append_chunks(GByteArray *output, const GByteArray *message)
{
    for (guint at = 0; at < message->len;) {
        VDIChunkHeader chunk = {
            .port = VDP_CLIENT_PORT,
            .size = MIN(message->len - at, VD_AGENT_MAX_DATA_SIZE),
        };

        g_byte_array_append(output, (const guint8 *) &chunk, sizeof(chunk));
        g_byte_array_append(output, message->data + at, chunk.size);
        at += chunk.size;
    }
}

/* The message's data are the two parts after each other. */
static void send_message(DeviceAgent *agent, uint32_t type, const void *head, size_t head_size,
                         const GByteArray *tail)
{
    GByteArray *message = g_byte_array_new();
    const VDAgentMessage header = {
        .protocol = VD_AGENT_PROTOCOL,
        .type = type,
        .size = head_size + (tail ? tail->len : 0),
    };

    g_byte_array_append(message, (const guint8 *) &header, sizeof(header));
    g_byte_array_append(message, head, head_size);
    if (tail) {
        g_byte_array_append(message, tail->data, tail->len);
    }
    append_chunks(agent->output, message);
    g_byte_array_unref(message);
    spice_server_char_device_wakeup(&agent->instance);
}

static void announce(DeviceAgent *agent)
{
    const uint32_t message[] = {
        false,                  /* no answer wanted */
        1 << VD_AGENT_CAP_CLIPBOARD_BY_DEMAND | 1 << VD_AGENT_CAP_CLIPBOARD_SELECTION,
    };

    send_message(agent, VD_AGENT_ANNOUNCE_CAPABILITIES, message, sizeof(message), NULL);
}

static void send_selection(DeviceAgent *agent, uint32_t type, const GByteArray *data)
{
    const SelectionHeader header = {
        .selection = VD_AGENT_CLIPBOARD_SELECTION_CLIPBOARD,
        .type = CLIPBOARD_TYPE,
    };

    send_message(agent, type, &header, sizeof(header), data);
}

static void grab_when_ready(DeviceAgent *agent)
{
    if (agent->is_started && agent->client_is_ready && !agent->is_grabbed) {
        agent->is_grabbed = true;
        send_selection(agent, VD_AGENT_CLIPBOARD_GRAB, NULL);
    }
}

static void send_clipboard(DeviceAgent *agent)
{
    GByteArray *data = g_byte_array_sized_new(agent->size);
    Pattern pattern;

    g_byte_array_set_size(data, agent->size);
    pattern_init(&pattern);
    pattern_fill(&pattern, data->data, data->len);
    send_selection(agent, VD_AGENT_CLIPBOARD, data);
    agent->sent = data->len;
    g_free(agent->sent_sha256);
    agent->sent_sha256 = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data->data, data->len);
    g_byte_array_unref(data);
}

static void take_clipboard(DeviceAgent *agent, const uint8_t *data, size_t size)
{
    if (size < sizeof(SelectionHeader)) {
        return;
    }
    data += sizeof(SelectionHeader);
    agent->received = size - sizeof(SelectionHeader);
    g_free(agent->received_sha256);
    agent->received_sha256 = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, agent->received);
}

static void take_message(DeviceAgent *agent, const VDAgentMessage *message)
{
    switch (message->type) {
    case VD_AGENT_ANNOUNCE_CAPABILITIES:
        if (message->size >= sizeof(uint32_t) &&
            ((const VDAgentAnnounceCapabilities *) message->data)->request) {
            announce(agent);
        }
        agent->client_is_ready = true;
        grab_when_ready(agent);
        break;
    case VD_AGENT_CLIPBOARD_REQUEST:
        send_clipboard(agent);
        break;
    case VD_AGENT_CLIPBOARD_GRAB:
        send_selection(agent, VD_AGENT_CLIPBOARD_REQUEST, NULL);
        break;
    case VD_AGENT_CLIPBOARD:
        take_clipboard(agent, message->data, message->size);
        break;
    default:
        break;                  /* monitors, volumes: nothing to this guest */
    }
}

static void take_messages(DeviceAgent *agent)
{
    GByteArray *held = agent->message;

    while (held->len >= sizeof(VDAgentMessage)) {
        const VDAgentMessage *message = (const VDAgentMessage *) held->data;
        uint64_t whole = sizeof(*message) + (uint64_t) message->size;

        if (held->len < whole) {
            return;
        }
        take_message(agent, message);
        g_byte_array_remove_range(held, 0, whole);
    }
}

/* The client's chunks make messages; what the server itself says is nothing to this guest. */
static int agent_write(SpiceCharDeviceInstance *instance, const uint8_t *bytes, int size)
{
    DeviceAgent *agent = agent_of(instance);
    GByteArray *input = agent->input;
    VDIChunkHeader chunk;

    g_byte_array_append(input, bytes, size);
    while (input->len >= sizeof(chunk)) {
        memcpy(&chunk, input->data, sizeof(chunk));
        if (input->len - sizeof(chunk) < chunk.size) {
            break;
        }
        if (chunk.port == VDP_CLIENT_PORT) {
            g_byte_array_append(agent->message, input->data + sizeof(chunk), chunk.size);
        }
        g_byte_array_remove_range(input, 0, sizeof(chunk) + chunk.size);
    }
    take_messages(agent);
    return size;
}

static int agent_read(SpiceCharDeviceInstance *instance, uint8_t *bytes, int size)
{
    DeviceAgent *agent = agent_of(instance);
    guint count = MIN((guint) size, agent->output->len - agent->output_read);

    if (count > 0) {
        memcpy(bytes, agent->output->data + agent->output_read, count);
        agent->output_read += count;
    }
    return count;
}

static void agent_state(SpiceCharDeviceInstance *instance G_GNUC_UNUSED,
                        int connected G_GNUC_UNUSED)
{
}

static const SpiceCharDeviceInterface interface = {
    .base = {
        .type = SPICE_INTERFACE_CHAR_DEVICE,
        .description = "an agent",
        .major_version = SPICE_INTERFACE_CHAR_DEVICE_MAJOR,
        .minor_version = SPICE_INTERFACE_CHAR_DEVICE_MINOR,
    },
    .state = agent_state,
    .write = agent_write,
    .read = agent_read,
};

static void start(Device *device)
{
    DeviceAgent *agent = (DeviceAgent *) device;

    agent->is_started = true;
    grab_when_ready(agent);
}

static bool is_finished(const Device *device)
{
    return ((const DeviceAgent *) device)->received_sha256 != NULL;
}

/* What the library has read, and what of the client's has come. */
static uint64_t progress(const Device *device)
{
    const DeviceAgent *agent = (const DeviceAgent *) device;

    return agent->output_read + agent->message->len + 2 * agent->received;
}

static void report_way(GString *json, const char *way, uint64_t bytes, const char *sha256)
{
    g_string_append_printf(json, "\"%s_bytes\":%" G_GUINT64_FORMAT ",\"%s_sha256\":", way, bytes,
                           way);
    if (sha256) {
        g_string_append_printf(json, "\"%s\"", sha256);
    } else {
        g_string_append(json, "null");
    }
}

static void report(const Device *device, GString *json)
{
    const DeviceAgent *agent = (const DeviceAgent *) device;

    g_string_append_c(json, '{');
    report_way(json, "sent", agent->sent, agent->sent_sha256);
    g_string_append_c(json, ',');
    report_way(json, "received", agent->received, agent->received_sha256);
    g_string_append_c(json, '}');
}

static void free_agent(Device *device)
{
    DeviceAgent *agent = (DeviceAgent *) device;

    g_byte_array_unref(agent->output);
    g_byte_array_unref(agent->input);
    g_byte_array_unref(agent->message);
    g_free(agent->sent_sha256);
    g_free(agent->received_sha256);
    g_free(agent);
}

static const DeviceFuncs funcs = {
    .start = start,
    .is_finished = is_finished,
    .progress = progress,
    .report = report,
    .free = free_agent,
};

Device *device_agent_new(const Guest *guest, uint64_t size)
{
    DeviceAgent *agent = g_new0(DeviceAgent, 1);

    agent->device.funcs = &funcs;
    agent->instance.base.sif = &interface.base;
    agent->instance.subtype = "vdagent";
    agent->size = size;
    agent->output = g_byte_array_new();
    agent->input = g_byte_array_new();
    agent->message = g_byte_array_new();
    /* as without a tablet: see device-inputs.c */
    spice_server_set_agent_mouse(guest->server, false);
    spice_server_add_interface(guest->server, &agent->instance.base);
    return &agent->device;
}
