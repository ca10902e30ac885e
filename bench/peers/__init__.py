"""Other chats, measured beside this one."""
