// Page 3: where does each run of each index lie? x is the row id; rows never move, so neither do the bars.
let runTable = null;
const runMap = (rows, indexes, runs) => {
  const names = indexes.map((index) => index.index_name);
  const levels = Object.fromEntries(names.map((name) => [name, Math.max(1, ...runs.filter((r) => r.index_name === name).map((r) => Number(r.level) + 1))]));
  const [W, bar, gap, title] = [roomy(1), 14, 3, 22];
  const end = Math.max(1, Number(rows.row_ids));
  const flushed = end - Number(rows.rows_in_memory);
  const x = (row) => (W * Number(row)) / end;
  let y = 0;
  const lanes = names.map((name, at) => {
    const height = levels[name] * (bar + gap) + gap;
    const top = y + title;
    y = top + height + 8;
    const bars = runs.filter((run) => run.index_name === name).map((run) => {
      const from = x(run.first_row);
      // Level 0 lies on top, as beds do: what merges join sinks.
      const place = { x: from.toFixed(2), y: top + gap + Number(run.level) * (bar + gap), width: Math.max(1.5, x(run.end_row) - from).toFixed(2), height: bar, rx: 1.5 };
      const moving = run.merging === "t";
      const said = `${name}, level ${run.level}, rows ${whole(run.first_row)} to ${whole(run.end_row)}: ${count(Number(run.entries))} entries, ${bytes(Number(run.bytes))}, ${run.form}${moving ? ", merging" : ""}`;
      return [s("rect", { class: "run fill c" + (at % 6), ...place }, s("title", null, said)),
        moving && s("rect", { class: "moving", fill: "none", ...place })];
    });
    const mem = flushed < end && s("rect", { class: "mem", x: x(flushed).toFixed(2), y: top + 0.5, width: Math.max(2, W - x(flushed) - 0.5).toFixed(2), height: height - 1 }, s("title", null, `${whole(rows.rows_in_memory)} rows in memory, in order there`));
    return [s("text", { class: "lane-name", x: 0, y: top - 6 }, name), s("rect", { class: "lane", x: 0, y: top, width: W, height }), bars, mem];
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => s("text", { x: share * W, y: y + 12, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, count(Math.round(share * end))));
  const moving = runs.filter((run) => run.merging === "t").length;
  const label = `Row ids 0 to ${whole(end)}. ` + names.map((name) => `${name}: ${runs.filter((r) => r.index_name === name).length} runs`).join(", ") + `. ${moving} runs take part in merges. ${whole(rows.rows_in_memory)} rows are in memory. The table below lists all runs.`;
  return s("svg", { class: "chart", viewBox: `0 0 ${W} ${y + 18}`, role: "img", "aria-label": label }, lanes, ticks);
};
const runsPage = {
  id: "runs", title: "Run map", nav: "Runs",
  lead: "Rows get their ids as they come and never move. Each bar is a run: the sorted entries of one index for a stretch of rows. Merges join neighbours into longer bars a level below.",
  async load(signal) {
    const [tables, indexes, runs] = await look([
      "select schema_name, table_name, row_ids, rows_in_memory, indexes from onlap_stat.tables order by row_ids desc, 1, 2",
      "select schema_name, table_name, index_name from onlap_stat.indexes order by index_oid",
      "select * from onlap_stat.runs order by level, first_row",
    ], signal);
    return { tables, indexes, runs };
  },
  draw(data, again) {
    const tables = data.tables.filter((t) => t.indexes !== "0");
    if (tables.length === 0) return [h("section", null, empty("No table of this database has an index. ", code("CREATE INDEX"), " makes a lane here."))];
    const key = (t) => t.schema_name + "." + t.table_name;
    const of = tables.find((t) => key(t) === runTable) || tables[0];
    const mine = (row) => row.schema_name === of.schema_name && row.table_name === of.table_name;
    const [indexes, runs] = [data.indexes.filter(mine), data.runs.filter(mine)];
    const choice = h("select", { id: "of-table", onchange: (e) => { runTable = e.target.value; again(); } },
      tables.map((t) => h("option", { value: key(t), selected: t === of }, key(t))));
    return [
      h("section", null, h("div", { class: "row" }, h("label", { for: "of-table" }, "Table"), choice,
        h("span", { class: "soft push" }, `${whole(of.row_ids)} rows, ${whole(of.rows_in_memory)} of them in memory`)),
        runs.length === 0
          ? empty("All rows of this table are still in memory, where they are in order for each index. Runs come with the first flush.")
          : runMap(of, indexes, runs),
        h("ul", { class: "key" }, h("li", { class: "dash" }, "takes part in a merge"), h("li", { class: "dots" }, "rows in memory"), h("li", { class: "bare" }, "from left to right: row ids"))),
      h("section", null, h("h2", null, "All runs of the table"), runs.length === 0 ? empty("None yet.") : table({
        columns: [
          { title: "Index", class: "name", of: (r) => r.index_name },
          { title: "Level", n: true, of: (r) => num(r.level), text: whole },
          { title: "First row", n: true, of: (r) => num(r.first_row), text: whole },
          { title: "End", n: true, of: (r) => num(r.end_row), text: whole },
          { title: "Entries", n: true, of: (r) => num(r.entries), text: whole },
          { title: "Bytes", n: true, of: (r) => num(r.bytes), text: bytes },
          { title: "Per entry", n: true, of: (r) => num(r.bytes) / Math.max(1, num(r.entries)), text: bytes },
          { title: "Files", n: true, of: (r) => num(r.files), text: whole },
          { title: "Form", of: (r) => r.form },
          { title: "State", of: (r) => (r.merging === "t" ? "merging" : "at rest") },
        ], rows: runs, state: runsPage.order })),
    ];
  },
  order: {},
};
