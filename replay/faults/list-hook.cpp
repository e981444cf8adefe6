/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * std::list links its nodes in libstdc++, which AddressSanitizer does not see. Preloaded, these
 * do the same where it does: a write to a freed node is then reported instead of corrupting the
 * heap unnoticed.
 */
#include <list>

namespace std
{
namespace __detail
{

void _List_node_base::_M_hook(_List_node_base *const position) noexcept
{
    _M_next = position;
    _M_prev = position->_M_prev;
    position->_M_prev->_M_next = this;
    position->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept
{
    _M_prev->_M_next = _M_next;
    _M_next->_M_prev = _M_prev;
}

} // namespace __detail
} // namespace std
