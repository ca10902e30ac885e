"""Small examples of what a chat is used for, as Markdown of every kind for the page to show: what
is asked for, and what fills the demo's replies."""

from __future__ import annotations

CODE = '''\
### Example: searching a sorted list

```python
def position(values: list[int], wanted: int) -> int | None:
    """Index of `wanted` in a sorted list, None if it is not there."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(values) and values[low] == wanted else None
```

The interval is half open: `high` is never looked at. With 1,000,000 values the loop runs at most
20 times. The standard library has the same as `bisect.bisect_left`, without the final check.
'''

TABLE = """\
### Example: answers of a web server

| code | name | what to do about it |
|-----:|:-----|:--------------------|
| 200 | OK | nothing |
| 301 | Moved Permanently | change the link |
| 304 | Not Modified | use the copy you have |
| 400 | Bad Request | repeat it only after a change |
| 401 | Unauthorized | sign in |
| 403 | Forbidden | ask for the right |
| 404 | Not Found | look for a typo |
| 409 | Conflict | fetch the newest state first |
| 429 | Too Many Requests | wait as long as `retry-after` says |
| 503 | Service Unavailable | try again, with growing pauses |

Codes from 400 on are the sender's business, codes from 500 on the server's.
"""

LIST = """\
### Example: a list for a release

1. **Freeze.** Only repairs from here on; everything else waits for the next version.
2. **Read the changes** once more from the last tag to now, as a stranger would.
   - Is there a setting whose default has changed?
   - Does the database need a migration, and how long does it lock which table?
3. **Try it** on a copy of real data, the way back included.
4. **Write the notes** for those who use it: what is new, what they must do.
5. **Tag, build, publish**, in that order and by one command.
6. **Watch** error rate and response times for an hour.

- [x] the way back has been tried
- [ ] somebody else knows how to do it
"""

SAMPLES = (
    CODE,
    """\
### Example: a query with a window function

```sql
SELECT customer,
       placed_at,
       amount,
       SUM(amount) OVER (
           PARTITION BY customer
           ORDER BY placed_at
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
       ) AS so_far
FROM   orders
WHERE  placed_at >= DATE '2026-01-01'
ORDER  BY customer, placed_at;
```

Each row keeps its own amount and gets the running total of its customer. `ROWS` counts lines, while
`RANGE`, the default, would lump orders of the same moment together.
""",
    TABLE,
    LIST,
    """\
### Example: a small change as a patch

```diff
 def average(values):
-    return sum(values) / len(values)
+    if not values:
+        raise ValueError("the average of nothing is not defined")
+    return sum(values) / len(values)
```

The old version failed as well, with a `ZeroDivisionError` from a line that does not look like a
division by zero to whoever reads the log. The new one names the cause. Returning 0 instead would be
the worse choice: a wrong number travels on, an exception stops.
""",
    """\
### Example: counting with a pipeline

```bash
cut -d' ' -f1 access.log |
    sort |
    uniq -c |
    sort -rn |
    head -n 10
```

The ten addresses with the most requests. Each program does one thing: `cut` takes the first
column, `sort` brings equal lines together, `uniq -c` counts them, the second `sort` puts the
biggest number on top. The same in one program, without sorting all lines:

```bash
awk '{ n[$1]++ } END { for (a in n) print n[a], a }' access.log | sort -rn | head -n 10
```
""",
    """\
### Example: units of size

| name | bytes | for comparison |
|:-----|------:|:---------------|
| kB | 1,000 | half a page of text |
| KiB | 1,024 | the same, counted in powers of two |
| MB | 1,000,000 | a long novel |
| MiB | 1,048,576 | a photo of medium quality |
| GB | 1,000,000,000 | an hour of film |
| TB | 1,000,000,000,000 | a wall of filing cabinets, many times |

The difference between the two countings is 2 % at a kilobyte and 10 % at a terabyte, which is why a
new disk always looks smaller than what its box says.
""",
    """\
### Example: what a token is

A model does not read letters but pieces of words. *Compaction* may be one piece or three, a space
usually belongs to the word after it, and a rare name falls apart into many:

| text | pieces, roughly |
|:-----|----------------:|
| `the` | 1 |
| ` conversation` | 1 |
| `Rumpelstiltskin` | 6 |
| `https://example.org/a/b?c=1` | 11 |

English text has about four characters to a piece, code fewer, other scripts fewer still. This demo
does not know the real pieces. It counts bytes and divides them by four.
""",
    """\
### Example: settings as JSON

```json
{
  "listen": {"host": "127.0.0.1", "port": 8443},
  "retries": 3,
  "pause_seconds": [1, 2, 4],
  "log": {"level": "info", "file": null}
}
```

JSON has no comments, so a name should carry its unit: `pause_seconds` cannot be misread, `timeout`
can. `null` means *not set* and is different from a missing key only if the program makes it so.
Numbers have no size limit on paper, but many readers turn them into floating point, and an id of
more than 15 digits is safer as a string.
""",
    """\
### Example: a note after a meeting

> **Present:** four. **Length:** 25 minutes.
>
> **Decided:** the old export stays until March; the new one is the default from now on.
>
> **Turned down:** keeping both for good, because each change would have to be made twice.
>
> **Open:** who tells the two customers that read the old format by program?
>
> **Next:** a draft of the announcement by Thursday.

Five lines, and whoever was absent knows what matters. A summary of a conversation follows the same
pattern: what was decided, what was *not*, what is open, what comes next.
""",
)
