"""What requests leave out of messages, while the stored ones stay whole; from what costs nothing to
the last resort:

1. `previews.preview_messages`: an oversized message is sent as its head and tail, in every request.
2. `pruning.prune_messages`: large results of old tool calls are sent as previews, from a batch on.
3. `trimming.trim`, then `trimming.shorten_turn`: the oldest turns are left out of one request, and
   results of the running turn are cut.
"""
