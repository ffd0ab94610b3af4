// Page 6: what do the tables say? One statement that looks, its rows as a grid, and as a file.
const box = { sql: "select table_name, row_ids, segment_bytes, index_bytes\nfrom onlap_stat.tables\norder by row_ids desc", result: null, busy: null };
const NUMERIC = new Set([20, 21, 23, 26, 700, 701, 790, 1700]);
const csvOf = (result) => {
  const cell = (value) => (value === null ? "" : value === "" || /[",\r\n]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value);
  return [result.columns.map((c) => cell(c.name)), ...result.rows.map((row) => row.map(cell))].map((row) => row.join(",")).join("\r\n") + "\r\n";
};
// Numbers keep all their digits: they are written as they came where JSON knows them.
const jsonOf = (result) => {
  const value = (v, at) => (v === null ? "null" : NUMERIC.has(result.columns[at].type) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(v) ? v
    : result.columns[at].type === 16 ? (v === "t" ? "true" : "false") : JSON.stringify(v));
  return "[" + result.rows.map((row) => "{" + row.map((v, at) => JSON.stringify(result.columns[at].name) + ":" + value(v, at)).join(",") + "}").join(",\n") + "]\n";
};
const save = (name, type, text) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};
const SHOWN = 1000;
const grid = (result) => h("div", { class: "result", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", null,
  h("thead", null, h("tr", null, result.columns.map((c) => h("th", { scope: "col", class: NUMERIC.has(c.type) ? "n" : null }, c.name)))),
  h("tbody", null, result.rows.slice(0, SHOWN).map((row) => h("tr", null, row.map((value, at) =>
    h("td", { class: value === null ? "null" : NUMERIC.has(result.columns[at].type) ? "n" : null }, value === null ? "NULL" : value)))))));
const answered = () => {
  const result = box.result;
  if (!result) return empty("Ctrl+Enter runs the statement. SELECT, VALUES, TABLE, SHOW and EXPLAIN are run; nothing can change.");
  if (result.plan) return result.plan;
  if (result.error) return errorNote(result.error);
  const many = result.rows.length;
  return [h("div", { class: "row" },
    h("span", { class: "soft" }, `${whole(many)} row${many === 1 ? "" : "s"} in ${ms(result.ms)}`
      + (result.cut ? ", and more that were not asked for" : "") + (many > SHOWN ? `; ${whole(SHOWN)} are shown, all are saved` : "")),
    many > 0 && [h("button", { type: "button", class: "push", onclick: () => save("rows.csv", "text/csv", csvOf(result)) }, "Save as CSV"),
      h("button", { type: "button", onclick: () => save("rows.json", "application/json", jsonOf(result)) }, "Save as JSON")]),
  result.notices.map((notice) => h("p", { class: "note" }, notice)),
  many > 0 ? grid(result) : empty(result.columns.length ? "No rows." : "Done.")];
};
const sqlPage = {
  id: "sql", title: "SQL", nav: "SQL", quiet: true,
  lead: "One statement at a time, in a transaction that only reads, with your role's rights. It may take 10 seconds and give 10,000 rows or 2 MiB.",
  async load() { return null; },
  draw() {
    const out = h("div", { id: "answer", "aria-live": "polite" }, answered());
    const text = h("textarea", { id: "sql", spellcheck: "false", autocapitalize: "off", autocomplete: "off", rows: 8, oninput: (e) => { box.sql = e.target.value; },
      onkeydown: (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); go(false); } } });
    text.value = box.sql;
    const buttons = [h("button", { type: "submit", class: "first" }, "Run"), h("button", { type: "button", onclick: () => go(true) }, "Explain")];
    // The server ends a statement that is not waited for.
    const stop = h("button", { type: "button", disabled: box.busy === null, onclick: () => { if (box.busy) box.busy.abort(); } }, "Stop");
    const go = async (explain) => {
      if (box.busy) box.busy.abort();
      const mine = new AbortController();
      box.busy = mine;
      buttons.forEach((button) => { button.disabled = true; });
      stop.disabled = false;
      show(out, h("p", { class: "empty" }, "Running…"));
      try {
        if (explain) box.result = { plan: await planOf(box.sql.trim().replace(/;\s*$/, ""), [], false, mine.signal) };
        else [box.result] = await run([{ sql: box.sql, rows: 10000 }], mine.signal);
      } catch (e) {
        box.result = { error: e.name === "AbortError" ? { message: "The statement was stopped." } : e };
      }
      if (box.busy !== mine) return;
      box.busy = null;
      buttons.forEach((button) => { button.disabled = false; });
      stop.disabled = true;
      show(out, answered());
    };
    return [h("section", null, h("form", { onsubmit: (e) => { e.preventDefault(); go(false); } },
      h("label", { for: "sql" }, "Statement"), h("div", { class: "field" }, text), h("div", { class: "row" }, buttons, stop))),
    h("section", null, out)];
  },
};
