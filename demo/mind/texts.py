"""The texts of the demo's replies: Markdown of every kind, for the page to show."""

from __future__ import annotations

OPENING = "> **Demo reply.** No AI is connected: this text was put together by rule.\n"

GREETING = """\
## Hello!

This is Everlong without an API key. The page, the database, the streaming and the compaction are
the real ones; only the model is replaced by a small program that answers from a stock of texts. Ask
for some *code*, a *table* or a *list*, or ask *how compaction works*. Or just write about anything
a few times: the window of this demo is small on purpose, so that you can see within a few minutes
what otherwise takes an afternoon.
"""

COMPACTION = """\
## How compaction works here

Before each request Everlong adds up what it is about to send. When that reaches 80 % of the budget,
the turn first goes through these steps:

1. **Plan.** The last messages stay word for word, as does your very first one. All between is to be
   summarised; a tool call is never parted from its result.
2. **Summarise.** The model gets that part as a numbered transcript and writes a chapter: goal,
   decisions, progress, files, errors, open questions, next step. Each bullet names the messages
   that it rests on.
3. **Check.** A summary that is empty, refused, without its headings or longer than its source is
   turned down.
4. **Commit.** The chapter is stored and from then on stands in the system prompt.

The messages themselves are not touched: they stay on the page and can be searched. Type `/compact`
to have it done at once, or `/compact` and a topic to have that topic kept in detail.
"""

TOUR = (
    """\
### The gauge

The number in the gauge is what the model was sent and what it answered last time, as its server
reported it, plus an estimate for what has been written since. The mark at 80 % is where a
compaction begins. With a real model the window is larger by far: 200,000 tokens are about 500
pages of text, and Everlong's default budget stops there even where a model would take a million,
since a long prompt is paid for again with each turn.
""",
    """\
### What a summary keeps

A good record is not a retelling. It lists what somebody needs who takes over the work:

- what you want, in your own words,
- what was decided, *and what was turned down*,
- names, paths, numbers and error messages exactly as they were written,
- what is still open.

Every bullet ends with message numbers, and each number is a link to the message itself. So a doubt
about the summary takes one click to settle.
""",
    """\
### Nothing is lost

Compaction changes what is *sent*, not what is *stored*. Scroll up after it: there is a line where
the summarised part ends, with the summary folded up inside it, and above it is every message as it
was. You can edit the summary, or take the compaction back as long as the full text still fits into
the window. The export contains everything.
""",
    """\
### Why chapters

Suppose the summary were written anew each time. After fifty rounds the first decision would have
been copied fifty times, and a copy of a copy loses its details:

```text
round 1   port 8443, because the proxy holds 443
round 9   port 8443 because of the proxy
round 30  a non-standard port is used
```

So each compaction adds a chapter about the *new* part, and leaves the older chapters alone. Only
when they are too large does code choose which of their statements stay, word for word.
""",
    """\
### Finding details again

A summary is for orientation, search is the memory. In a real conversation the model has tools with
which it looks up earlier messages by their words or by their numbers, whenever the summary does
not say enough. You have the same search on the page. Both see **all** messages, however long ago
the compaction was that covered them.
""",
    """\
### Stopping, leaving, coming back

An answer belongs to the conversation and not to the browser tab. Close the tab while a reply is
being written, open it again, and the text is there, still growing. *Stop* ends the reply at once
and keeps what has arrived so far. If the server itself is restarted in the middle, the part that
was saved is shown as interrupted, with a button to try again.
""",
    """\
### What the cache has to do with it

Most of a long prompt is the same as in the turn before. Servers remember such a beginning for some
minutes and charge a tenth of the price for it, or less, provided that it is the same
**byte for byte**. That is why Everlong keeps the order *tools, instructions, summary, messages*,
never puts a clock into the instructions, and changes the beginning only when a compaction does.
""",
    """\
### With a real model

Stop the server, set the key, start again:

```bash
export ANTHROPIC_API_KEY=...
make run
```

Instead of the key's default host, `ANTHROPIC_BASE_URL` can point to any server that speaks the same
protocol, such as Ollama on your own machine. Conversations from the demo stay where they are
and can go on with the new model.
""",
    """\
### Long jobs do not block

A summary is written by a background worker, while the composer is locked for as long as it takes
and says why. Your draft stays in it. At somewhat less than the mark a summary is prepared ahead of
time, right after a reply, while you are still reading; then there is nothing to wait for when the
mark is reached.
""",
    """\
### Markdown on this page

Besides tables, lists and code there are ~~struck~~, *slanted* and **strong** words, `inline code`,
[links](https://commonmark.org) and quotations:

> The map is not the territory, and the summary is not the conversation.

The server turns the text into HTML and cleans it before it reaches your browser, so a reply cannot
bring scripts along.
""",
)

FOUND = "## What the search returned\n\nThe tool was called through the real loop. Its result:\n\n"
