"""Pages as HTML documents, for observation mode ``html``.

Invariant: parsing a document gives the text nodes of its page and no others (those in
``head`` aside), so that text made from the HTML equals observation mode ``text``.
"""

from __future__ import annotations

from html import escape

from sandgym.webshop.pages import Node, Page, instruction_nodes

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>WebShop</title>
<style>
body { font-family: sans-serif; margin: 2em auto; max-width: 60em; }
#instruction-text { text-align: center; }
.btn { cursor: pointer; }
</style>
</head>
<body>
"""
_FOOT = "</body>\n</html>\n"
_SEARCH_BAR = '<input type="text" id="search_input" name="search_query" placeholder="Search...">\n'


def html(page: Page, instruction: str) -> str:
    """The document of a page under an instruction."""
    parts = [_HEAD, _instruction(page.name, instruction)]
    if page.has_search_bar:
        parts.append(_SEARCH_BAR)
    parts += [f"{_element(node)}\n" for node in page.nodes]
    parts.append(_FOOT)
    return "".join(parts)


def _instruction(page: str, instruction: str) -> str:
    nodes = [escape(node.text) for node in instruction_nodes(page, instruction)]
    if page == "done":
        return ""
    title = f"<h2>{nodes.pop(0)}</h2>\n" if page == "index" else ""
    return f'{title}<div id="instruction-text">\n<h4>{"<br>".join(nodes)}</h4>\n</div>\n'


def _element(node: Node) -> str:
    text = escape(node.text)
    if node.kind == "button":
        return f'<button class="btn">{text}</button>'
    if node.kind == "link":
        return f'<h4><a class="product-link" href="#{text}">{text}</a></h4>'
    if node.kind == "label":
        name = escape(node.name)
        return f'<input type="radio" name="{name}" value="{text}"><label>{text}</label>'
    return f"<p>{text}</p>"
