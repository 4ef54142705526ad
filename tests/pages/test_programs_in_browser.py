"""The program page in a real browser: it draws, searches, opens and closes groups, by keyboard too."""

from __future__ import annotations

from pathlib import Path

import fluidio as fluid
from fluidio.pages.page import write
from fluidio.pages.programs import program_page
from tests.pages.browser import opened
from tests.pages.test_programs import trained


def test_the_graph_is_drawn_searched_opened_and_closed(tmp_path: Path) -> None:
    main_program, startup, _ = trained()
    write(tmp_path / "page.html", program_page([("main", main_program), ("startup", startup)], title="train.py"))
    with opened(tmp_path / "page.html") as page:
        drawn = page.locator("g.node")
        closed = drawn.count()
        assert page.locator("g.node.group").count() >= 4
        assert page.locator("path.edge").count() > 5
        assert {"reader", "forward", "backward", "update"} == set(
            page.eval_on_selector_all("g.node", "all => all.map(each => each.dataset.role)")
        )
        page.keyboard.press("e")
        assert drawn.count() > closed
        page.keyboard.press("c")
        assert drawn.count() == closed
        page.keyboard.press("/")
        page.keyboard.type("relu")
        page.keyboard.press("Enter")
        assert page.locator(".detail h3").inner_text() == "relu"
        assert "test_programs.py" in page.locator("[data-site]").inner_text()
        assert "fluid.layers.fc(image, size=4" in page.locator("[data-site] code").inner_text()
        page.keyboard.press("ArrowUp")
        assert page.locator(".detail h3").inner_text() == "elementwise_add"
        page.keyboard.press("Enter")
        assert page.locator(".detail h3").inner_text() != "elementwise_add"
        page.get_by_role("button", name="backward", exact=True).click()
        assert page.locator("g.node[data-role=backward]").count() == 0
        page.get_by_role("button", name="startup", exact=True).click()
        assert page.locator(".kinds td", has_text="fill_constant").count() == 1


def test_a_program_of_5000_ops_opens_quickly_and_opens_all_its_groups(tmp_path: Path) -> None:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        x = fluid.layers.data("x", [16])
        for number in range(830):
            with fluid.name_scope(f"block{number // 10}"):
                x = fluid.layers.fc(x, size=16)
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(x))
    assert len(program.global_block().ops) > 4900
    write(tmp_path / "page.html", program_page(program))
    with opened(tmp_path / "page.html", dark=True, width=420) as page:
        page.keyboard.press("e")
        assert page.locator("g.node").count() > 5
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        page.locator(".view").evaluate("each => { each.scrollTop = 20000 }")
        page.wait_for_function("document.querySelectorAll('g.node').length > 5")
