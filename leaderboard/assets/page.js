"use strict";
// Sorts a table by the column whose heading is clicked: numbers from the largest, texts from A; a second click turns
// the order round. Cells without a value stay at the end.
for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const numeric = heading.dataset.kind === "number";
      const before = heading.getAttribute("aria-sort");
      const ascending = before === null ? !numeric : before === "descending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value;
      const order = (a, b) => (numeric ? Number(a) - Number(b) : a.localeCompare(b));
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        return ascending ? order(x, y) : order(y, x);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
