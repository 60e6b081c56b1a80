"use strict";
(() => {
  // The theme: the system's, until the reader chooses one. A browser may refuse to keep the choice.
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("pairforge-theme"); } catch { return null; } };
  const shown = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const label = () => { button.textContent = shown() === "dark" ? "Light theme" : "Dark theme"; };
  if (kept() === "dark" || kept() === "light") root.dataset.theme = kept();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    try { localStorage.setItem("pairforge-theme", root.dataset.theme); } catch { /* The choice is this page's alone. */ }
    label();
  });
  dark.addEventListener("change", label);
  label();

  // Tables: a head sorts the rows by its column, numbers by their value.
  const worth = (cell) => {
    const number = cell.querySelector("data");
    return number ? Number(number.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1;
  };
  for (const table of document.querySelectorAll("table:not(.listing)")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 3) continue;
    heads.forEach((head, column) => {
      const sort = document.createElement("button");
      sort.type = "button";
      sort.textContent = head.textContent;
      head.replaceChildren(sort);
      sort.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [worth(row.cells[column]), row]);
        rows.sort((a, b) => (falls ? -1 : 1) * compare(a[0], b[0]));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }

  // Figures: the words of a mark beside the pointer, or beside the mark that the arrow keys have come to.
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const tell = (mark, x, y) => {
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 8 : y + 18}px`;
  };
  for (const svg of document.querySelectorAll(".picture svg")) {
    const marks = [...svg.querySelectorAll("title")].map((title) => {
      const mark = title.parentNode;
      mark.dataset.tip = title.textContent;
      mark.classList.add("mark");
      title.remove();
      return mark;
    });
    svg.addEventListener("mousemove", (e) => {
      const mark = e.target.closest(".mark");
      if (mark) tell(mark, e.clientX, e.clientY); else hide();
    });
    svg.addEventListener("mouseleave", hide);
    if (marks.length === 0) continue;
    svg.tabIndex = 0;
    let here = -1;
    const leave = () => { if (here >= 0) marks[here].classList.remove("here"); hide(); };
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") leave();
      if (!step) return;
      e.preventDefault();
      leave();
      here = here < 0 ? 0 : (here + step + marks.length) % marks.length;
      marks[here].classList.add("here");
      marks[here].scrollIntoView({ block: "nearest", inline: "nearest" });
      const box = marks[here].getBoundingClientRect();
      tell(marks[here], box.right - 12, box.bottom - 12);
    });
  }
})();
