"use strict";
(() => {
  // Sorting: every heading of a sortable table becomes a button.
  const value = (cell) => cell?.dataset.key === undefined ? cell?.textContent.trim() ?? "" : Number(cell.dataset.key);
  const compare = (a, b) => {
    const numbers = [a, b].map((each) => typeof each === "number");
    if (numbers[0] && numbers[1]) return a - b;
    // Numbers come before text, such as the dash of a missing value.
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows];
        rows.sort((a, b) => {
          const order = compare(value(a.cells[column]), value(b.cells[column]));
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }

  // Switches between panels.
  for (const group of document.querySelectorAll("fieldset.switch")) {
    group.hidden = false;
    const show = (chosen) => {
      for (const panel of document.querySelectorAll(`[data-switch="${group.id}"]`)) {
        panel.classList.toggle("off", panel.dataset.value !== chosen);
      }
    };
    group.addEventListener("change", (event) => show(event.target.value));
    show(group.querySelector("input:checked").value);
  }

  // Filters of findings by severity.
  for (const group of document.querySelectorAll("fieldset.filter")) {
    group.hidden = false;
    const show = () => {
      const wanted = new Set([...group.querySelectorAll("input:checked")].map((input) => input.value));
      for (const item of document.querySelectorAll(`[data-filter="${group.id}"]`)) {
        item.classList.toggle("off", !wanted.has(item.dataset.value));
      }
    };
    group.addEventListener("change", show);
    show();
  }

  // The theme: that of the system, light, or dark.
  const button = document.getElementById("theme");
  const themes = ["as the system", "light", "dark"];
  let theme = 0;
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    if (theme === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    button.textContent = `Theme: ${themes[theme]}`;
  });
})();
