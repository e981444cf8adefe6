/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An end of the link: a TUN device inside a network namespace. It is IP only (no Ethernet header)
 * and without IFF_VNET_HDR, so the kernel cuts large TCP segments to the MTU and fills in
 * checksums before a packet gets here. IPv6 is off on it, until the user turns it on: the only
 * packets are those that the two ends send each other.
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of an Ethernet header, which sizes and rates include. */
#define TUN_ETHERNET_HEADER 14

#define TUN_NAME_SIZE 16

typedef struct TunConfig {
    const char *name_space; /* a path, or a name in /run/netns */
    const char *device; /* NULL: link0, or the next number that is free there */
    struct in_addr address;
    unsigned prefix;
    unsigned mtu;
} TunConfig;

typedef struct Tun {
    int fd; /* non-blocking; one packet a read or write */
    FILE *stats;
    char device[TUN_NAME_SIZE];
} Tun;

/* Creates the device, sets its address and brings it up. Failure ends the process with one line on
 * stderr. */
void tun_create(Tun *tun, const TunConfig *config);

/* The device vanishes, as it does when the process ends in any other way. */
void tun_destroy(Tun *tun);

/* Packets that the device dropped because they were not read in time. */
uint64_t tun_missed(const Tun *tun);
