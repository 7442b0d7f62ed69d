"""A calculator for whole numbers: postfix, infix, variables."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "calculator",
    "Evaluates arithmetic on whole numbers.",
    r'''
### calculator/operators.py
"""What operators do and how tightly they bind."""

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}
RIGHT = ("^",)


def apply(operator, left, right):
    """Value of one operation."""
    if operator == "+":
        return left + right
    elif operator == "-":
        return left - right
    elif operator == "*":
        return left * right
    elif operator == "/":
        return left // right
    elif operator == "%":
        return left % right
    elif operator == "^":
        return left**right
    raise ValueError("unknown operator " + operator)


def binds_first(top, operator):
    """Whether an operator on the stack is applied before the one that is read."""
    if operator in RIGHT:
        return PRECEDENCE[top] > PRECEDENCE[operator]
    return PRECEDENCE[top] >= PRECEDENCE[operator]

### calculator/postfix.py
"""Postfix notation."""

from calculator.operators import PRECEDENCE, apply, binds_first


def to_postfix(tokens):
    """Infix tokens in postfix order."""
    output = []
    stack = []
    for token in tokens:
        if token in PRECEDENCE:
            while stack and stack[-1] != "(" and binds_first(stack[-1], token):
                output.append(stack.pop())
            stack.append(token)
        elif token == "(":
            stack.append(token)
        elif token == ")":
            while stack and stack[-1] != "(":
                output.append(stack.pop())
            if not stack:
                raise ValueError("too many closing brackets")
            stack.pop()
        else:
            output.append(token)
    while stack:
        output.append(stack.pop())
    return output


def evaluate_postfix(tokens, variables=None):
    """Value of postfix tokens; an unknown name counts as zero."""
    variables = variables or {}
    stack = []
    for token in tokens:
        if token in PRECEDENCE:
            right = stack.pop()
            left = stack.pop()
            stack.append(apply(token, left, right))
        elif token.isdigit():
            stack.append(int(token))
        else:
            stack.append(variables.get(token, 0))
    return stack[-1]

### calculator/memory.py
"""A calculator that remembers."""

from calculator.postfix import evaluate_postfix, to_postfix


class Memory:
    """Variables and the last results."""

    def __init__(self, keep=«KEEP»):
        self.variables = {}
        self.history = []
        self.keep = keep

    def calculate(self, text):
        """Value of a line such as ``2 * ( a + 1 )``; ``a = 3`` sets a variable."""
        name, equals, expression = text.rpartition("=")
        value = evaluate_postfix(to_postfix(expression.split()), self.variables)
        if equals:
            self.variables[name.strip()] = value
        self.remember(value)
        return value

    def remember(self, value):
        """Keep a result and forget the oldest when there are too many."""
        self.history.append(value)
        if len(self.history) > self.keep:
            self.history.pop(0)

    def last(self, back=1):
        """A result from before; nothing when there are not so many."""
        if back > len(self.history):
            return None
        return self.history[-back]

### tests/test_operators.py
import unittest

from calculator.operators import apply, binds_first


class OperatorsTest(unittest.TestCase):
    def test_plus(self):
        self.assertEqual(apply("+", «A», «B»), «A + B»)

    def test_minus(self):
        self.assertEqual(apply("-", «A», «B»), «A - B»)

    def test_times(self):
        self.assertEqual(apply("*", «A», «B»), «A * B»)

    def test_divided(self):
        self.assertEqual(apply("/", «A», «B»), «A // B»)

    def test_rest(self):
        self.assertEqual(apply("%", «A», «B»), «A % B»)

    def test_power(self):
        self.assertEqual(apply("^", «A», «B»), «A**B»)

    def test_unknown(self):
        with self.assertRaises(ValueError):
            apply("?", 1, 2)

    def test_equal_precedence(self):
        self.assertEqual(binds_first("-", "+"), True)

    def test_power_binds_to_the_right(self):
        self.assertEqual(binds_first("^", "^"), False)

    def test_tighter_on_the_stack(self):
        self.assertEqual(binds_first("*", "+"), True)

    def test_looser_on_the_stack(self):
        self.assertEqual(binds_first("+", "*"), False)

    def test_rest_and_plus(self):
        self.assertEqual(binds_first("+", "%"), False)

### tests/test_postfix.py
import unittest

from calculator.postfix import evaluate_postfix, to_postfix


class PostfixTest(unittest.TestCase):
    def test_times_before_plus(self):
        self.assertEqual(to_postfix(["1", "+", "2", "*", "3"]), ["1", "2", "3", "*", "+"])

    def test_left_to_right(self):
        self.assertEqual(to_postfix(["8", "-", "3", "-", "2"]), ["8", "3", "-", "2", "-"])

    def test_brackets(self):
        self.assertEqual(to_postfix(["(", "1", "+", "2", ")", "*", "3"]), ["1", "2", "+", "3", "*"])

    def test_powers(self):
        self.assertEqual(to_postfix(["2", "^", "3", "^", "2"]), ["2", "3", "2", "^", "^"])

    def test_closing_bracket_alone(self):
        with self.assertRaises(ValueError):
            to_postfix(["1", ")"])

    def test_evaluate(self):
        self.assertEqual(evaluate_postfix(["«A»", "«B»", "-"]), «A - B»)

    def test_evaluate_variable(self):
        self.assertEqual(evaluate_postfix(["x", "2", "*"], {"x": «A»}), «2 * A»)

    def test_unknown_variable(self):
        self.assertEqual(evaluate_postfix(["x", "2", "+"]), 2)

### tests/test_memory.py
import unittest

from calculator.memory import Memory


class MemoryTest(unittest.TestCase):
    def test_calculate(self):
        self.assertEqual(Memory().calculate("2 * ( 3 + 4 )"), 14)

    def test_variable(self):
        memory = Memory()
        memory.calculate("a = «A» + 1")
        self.assertEqual(memory.calculate("a * 2"), «2 * A + 2»)

    def test_history(self):
        memory = Memory()
        memory.calculate("1 + 1")
        memory.calculate("2 + 3")
        self.assertEqual(memory.history, [2, 5])

    def test_last(self):
        memory = Memory()
        memory.remember(7)
        memory.remember(9)
        self.assertEqual(memory.last(), 9)
        self.assertEqual(memory.last(2), 7)

    def test_nothing_to_remember(self):
        self.assertEqual(Memory().last(), None)

    def test_keep(self):
        memory = Memory(2)
        for value in (4, 5, 6):
            memory.remember(value)
        self.assertEqual(memory.history, [5, 6])

    def test_keep_exactly(self):
        memory = Memory(2)
        memory.remember(4)
        memory.remember(5)
        self.assertEqual(memory.history, [4, 5])

    def test_default_keep(self):
        self.assertEqual(Memory().keep, «KEEP»)
''',
    names={
        "calculator": ("calculator", "reckoner", "arithmo"),
        "operators": ("operators", "signs", "binary"),
        "postfix": ("postfix", "rpn", "reverse"),
        "memory": ("memory", "session", "recall"),
        "Memory": ("Memory", "Session", "Calculator"),
        "apply": ("apply", "compute", "operate"),
        "binds_first": ("binds_first", "goes_first", "is_tighter"),
        "to_postfix": ("to_postfix", "reorder", "shunt"),
        "evaluate_postfix": ("evaluate_postfix", "run", "value_of"),
        "calculate": ("calculate", "enter", "evaluate"),
        "history": ("history", "results", "past"),
        "stack": ("stack", "pile", "pending"),
    },
    constants={"A": (7, 9, 11), "B": (2, 3, 4), "KEEP": (5, 8, 10)},
)
