"""A shop of three products in the official file format, written by hand."""

from __future__ import annotations

from typing import Any


def raw_product(asin: str, **changes: Any) -> dict[str, Any]:
    """A row in the official format."""
    row = {
        "asin": asin,
        "name": "Blue Lamp",
        "full_description": "A lamp for the desk.",
        "small_description": ["Bright light", "Long cable"],
        "pricing": "$25.00",
        "customization_options": "",
        "images": ["https://example.com/lamp.jpg"],
        "category": "garden",
        "query": "desk lamps",
        "product_category": "Home › Lighting › Lamps",
        "average_rating": "",
        "page": 1,
    }
    return row | changes


SHOP = [
    raw_product(
        "B000000001", customization_options={"Color": [{"value": "Red"}, {"value": "Navy Blue"}], "Size": None}
    ),
    raw_product("B000000002", name="Green Lamp", pricing="$13.99$12.26"),
    raw_product(
        "B000000003",
        name="Cotton Shirt",
        category="fashion",
        query="Shirts ",
        product_category="Clothing › Men › Shirts",
        customization_options={"size": [{"value": "Large"}, {"value": "X-Large"}], "fit": [{"value": "Slim/Tall"}]},
    ),
]
SHOP_INS = {
    "B000000001": {
        "attributes": ["easy clean", "led light"],
        "instruction": "Find me a lamp",
        "instruction_attributes": ["easy clean"],
    },
    "B000000002": {"attributes": []},
    "B000000003": {
        "attributes": ["machine wash"],
        "instruction": "Find me a shirt",
        "instruction_attributes": ["machine wash"],
    },
}
SHOP_NOUNS = {"B000000001": ["blue", "lamp"], "B000000002": ["green", "lamp"], "B000000003": ["cotton", "shirt"]}
SHOP_HUMAN = {
    "B000000003": [
        {
            "instruction": ".i need a shirt.",
            "instruction_attributes": ["machine wash"],
            "instruction_options": ["large"],
        },
        {"instruction": "anything", "instruction_attributes": [], "instruction_options": []},
    ]
}


def shirt_goal(env):
    """Id of the goal that asks for the large shirt."""
    return next(
        f"goal-{index}"
        for index, goal in enumerate(env.unwrapped.goals)
        if goal.asin == "B000000003" and goal.goal_options.get("size") == "large"
    )


def play(env, *actions):
    """Plays actions that must all do something; returns what the last step returned."""
    for action in actions:
        result = env.step(action)
        assert result[4]["action_valid"], action
    return result
