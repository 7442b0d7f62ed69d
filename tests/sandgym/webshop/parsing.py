"""Reading an HTML page by the original's rules (BeautifulSoup), independently of ``sandgym.webshop.pages``."""

from __future__ import annotations

from bs4 import BeautifulSoup
from bs4.element import Comment

HIDDEN = {"style", "script", "head", "title", "meta", "[document]"}


def visible(html):
    for node in BeautifulSoup(html, "html.parser").find_all(string=True):
        if node.parent.name not in HIDDEN and not isinstance(node, Comment) and node != "\n":
            yield node


def text(html):
    return " [SEP] ".join(node.strip() for node in visible(html))


def text_rich(html, url, visited):
    shown = ""
    for node in visible(html):
        if node.parent.name == "button":
            line = f"[button] {node} [button_]"
        elif node.parent.name == "label" and f'"{node}"' in url:
            line = f"  [clicked button] {node} [clicked button_]"
            shown = f"You have clicked {node}.\n" + shown
        elif node.parent.name == "label":
            line = f"  [button] {node} [button_]"
        elif node.parent.get("class") == ["product-link"]:
            mark = "clicked button" if node in visited else "button"
            line = f"\n[{mark}] {node} [{mark}_]"
        else:
            line = str(node)
        shown += line + "\n"
    return shown


def available(html):
    soup = BeautifulSoup(html, "html.parser")
    names = [tag.get_text().lower() for tag in soup.find_all(class_="btn") + soup.find_all(class_="product-link")]
    names += [tag.get("value") for tag in soup.select('input[type="radio"]')]
    return {"has_search_bar": soup.find(id="search_input") is not None, "clickables": list(dict.fromkeys(names))}
