"""Comments in markdown: what names hold is shown as it is, and nothing of them is read as markdown."""

from activeeval.report.markdown_comment import comment, escaped


def test_what_names_hold_is_no_markdown():
    assert escaped("a*b_c[1](x) `d` <img> #7 ~e~") == r"a\*b\_c\[1\](x) \`d\` \<img> \#7 \~e\~"
    assert "\n" not in escaped("two\nlines")
    (row,) = comment("t", [], [{"of": "a|b"}]).splitlines()[-1:]
    assert row == r"| a\|b |"


def test_a_comment_has_its_parts_in_order_and_no_empty_ones():
    text = comment("worse", ["One.", "Two."], [{"value": "1"}], ["What it is."], ["be wary"])
    assert text == (
        "### worse\n\nOne.  \nTwo.\n\n| value |\n| --- |\n| 1 |\n\n- **warning**: be wary\n\n<sub>What it is.</sub>"
    )
    assert comment("open", ["Nothing yet."], []) == "### open\n\nNothing yet."
