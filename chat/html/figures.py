"""Figures as the page writes them."""

from decimal import Decimal

from django.utils.translation import gettext


def format_tokens(count: int | None) -> str:
    """`161k`, `9.2k`, `812`."""
    count = count or 0
    if count < 1_000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k"
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def format_money(dollars: float | Decimal | None) -> str:
    """`$0`, `$0.0123`, `$1.25`, as the gauge writes it; None is not known."""
    if dollars is None:
        return gettext("unknown")
    if not dollars:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def format_cost(dollars: Decimal | float, *, about: bool) -> str:
    """`$0.0123`, or `about $0.0123` where a server has not reported all of it."""
    money = format_money(dollars)
    return gettext("about {money}").format(money=money) if about and dollars else money


def format_price(about: Decimal | None, most: Decimal | None) -> str:
    """`≈ $0.0123, up to $0.0456`: an estimate, and what it may become; None is not known."""
    if about is None or most is None:
        return format_money(None)
    if most <= about:
        return f"≈ {format_money(about)}"
    return gettext("≈ {price}, up to {most}").format(
        price=format_money(about), most=format_money(most)
    )


def format_seconds(seconds: float) -> str:
    """`< 0.1 s`, `4.2 s`, `85 s`."""
    if seconds < 0.1:
        return "< 0.1 s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
