"use strict";
(() => {
  const bar = document.getElementById("filter");
  const box = document.getElementById("filter-text");
  const attention = document.getElementById("filter-attention");
  const count = document.getElementById("filter-count");
  const rows = [...document.querySelectorAll("tr[data-row]")].map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    urgent: row.hasAttribute("data-attention"),
  }));

  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text, urgent } of rows) {
      const fits = (urgent || !attention.checked) && words.every((word) => text.includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
      // What was looked for must not stay folded.
      for (const details of row.querySelectorAll("details")) {
        const folded = details.textContent.toLowerCase();
        if (words.some((word) => folded.includes(word))) details.open = true;
      }
    }
    for (const empty of document.querySelectorAll(".empty")) {
      empty.hidden = empty.previousElementSibling.querySelector("tr[data-row]:not([hidden])") !== null;
    }
    count.textContent = `${shown} of ${rows.length} rows shown`;
  }

  box.addEventListener("input", filter);
  attention.addEventListener("change", filter);
  // Paper can't be unfolded.
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  // Without this script it could do nothing.
  bar.hidden = rows.length === 0;
  filter();
})();
