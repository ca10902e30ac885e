"""Large results of a tool: pages of offers, as a job board gives them."""

KEY = "Bearer let-me-in"  # of tests.support.mcp_server, whose libraries take a while to load
CRITERIA = (
    "I look for a job. Criteria: remote only, at least 95,000 EUR, no travel, Python. Score each "
    "offer from 0 to 100 and keep its URL."
)


def offer(number: int) -> str:
    """What is to be kept of an offer."""
    score, reference = 50 + number * 7 % 50, number * 31
    return (
        f"Offer {number}: Acme{number} GmbH, score {score}/100, "
        f"https://jobs.example/offer/{number:04}?ref=q{reference}"
    )


def offers(page: int) -> str:
    """A page of forty offers."""
    rest = " remote possible, Python and Django, team of eight, yearly bonus"
    return "\n".join(offer(number) + rest for number in range(page * 40, page * 40 + 40))
