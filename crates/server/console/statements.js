// Page 4: which statements take the time, and how does a plan run?
const planNode = (node) => {
  const skip = ["Node Type", "Plans", "Relation Name", "Index Name", "Parallel Aware", "Async Capable", "Alias", "Schema"];
  // Of a whole plan the server names the first index and table, which stand at their own steps, too.
  const whole = node.Tier !== undefined && node.Plans;
  const of = whole ? "" : [node["Index Name"] && `using ${node["Index Name"]}`, node["Relation Name"] && `on ${node["Relation Name"]}`].filter(Boolean).join(" ");
  const facts = Object.entries(node).filter(([name, value]) => !skip.includes(name) && typeof value !== "object")
    .map(([name, value]) => `${name}: ${value}`);
  const below = node.Plans || [];
  return h("li", null, h("div", null, h("b", null, String(node["Node Type"] || "Step")), of && " " + of),
    facts.length > 0 && h("div", { class: "facts" }, facts.join(" · ")), below.length > 0 && h("ul", null, below.map(planNode)));
};
// The plan of a statement as a tree, or what the server says instead.
const planOf = async (sql, values, analyze, signal) => {
  const [result] = await run([{ sql: `explain (${analyze ? "analyze, " : ""}format json) ${sql}`, values }], signal);
  if (result.error) return errorNote(result.error);
  const plans = JSON.parse(result.rows.map((row) => row[0]).join("\n"));
  return plans.map((plan) => h("div", null, h("ul", { class: "plan" }, planNode(plan.Plan || plan)),
    Object.entries(plan).filter(([, value]) => typeof value === "number").map(([name, value]) => h("p", { class: "chart-note" }, `${name}: ${digits(value)} ms`))));
};
const errorNote = (error) => h("div", { class: "note bad", role: "alert" }, h("p", null, `${error.message}${error.state ? ` (${error.state})` : ""}`),
  error.detail && h("p", { class: "soft" }, error.detail), error.hint && h("p", { class: "soft" }, error.hint));

let shownPlan = null;
const statementOrder = { at: 3, down: true };
const statementsPage = {
  id: "statements", title: "Statements", nav: "Statements",
  lead: "Statements without their literals, of this process: how often they ran, how long they took, and how many went the native way, which needs no plan.",
  async load(signal) {
    const [all] = await look(["select * from onlap_stat.statements where query not like '%onlap_stat.%' and query <> '" + DATABASES + "' order by total_ms desc limit 300"], signal);
    return all;
  },
  draw(all, again) {
    if (all.length === 0) return [h("section", null, empty("No statement has run since the server started. Connect with ", code("psql"), " and come back."))];
    const open = (statement) => { shownPlan = { text: statement.query, values: {} }; again().then(() => { const at = $("plan-title"); if (at) { at.scrollIntoView({ block: "nearest" }); at.focus(); } }); };
    const plannable = (sql) => /^\s*(select|with|values|table|insert|update|delete|merge)\b/i.test(sql) && !sql.includes("(...)");
    return [planPanel(), h("section", null, h("h2", null, "By time"), table({
      state: statementOrder,
      columns: [
        { title: "Statement", class: "name", of: (r) => r.query, text: (_, r) => [code(r.query), h("span", { class: "under" }, `${r.role_name} in ${r.database_name} `,
          plannable(r.query) && h("button", { type: "button", class: "plain", onclick: () => open(r) }, "Plan"))] },
        { title: "Calls", n: true, of: (r) => num(r.calls), text: count },
        { title: "Rows", n: true, of: (r) => num(r.rows), text: count },
        { title: "All time", n: true, of: (r) => num(r.total_ms), text: ms },
        { title: "Median", n: true, of: (r) => num(r.p50_ms), text: ms },
        { title: "99th perc.", n: true, of: (r) => num(r.p99_ms), text: ms },
        { title: "Longest", n: true, of: (r) => num(r.max_ms), text: ms },
        { title: "Native", n: true, of: (r) => num(r.native_calls) / Math.max(1, num(r.calls)), text: percent },
      ], rows: all }))];
  },
};
const planPanel = () => {
  if (!shownPlan) return null;
  const wanted = [...new Set(shownPlan.text.match(/\$\d+/g) || [])].map((p) => Number(p.slice(1))).sort((a, b) => a - b);
  const out = h("div", { "aria-live": "polite" });
  const values = () => Array.from({ length: Math.max(0, ...wanted) }, (_, at) => (shownPlan.values[at + 1] === undefined || shownPlan.values[at + 1] === "" ? null : shownPlan.values[at + 1]));
  const draw = async () => {
    try { shownPlan.tree = await planOf(shownPlan.text, values()); } catch (e) { shownPlan.tree = errorNote(e); }
    show(out, shownPlan.tree);
  };
  if (shownPlan.tree) show(out, shownPlan.tree); else draw();
  return h("section", { "aria-labelledby": "plan-title" },
    h("div", { class: "row" }, h("h2", { id: "plan-title", tabindex: "-1" }, "Plan"),
      h("button", { type: "button", class: "push", onclick: () => { shownPlan = null; draw0(); } }, "Close")),
    h("p", null, code(shownPlan.text)),
    wanted.length > 0 && h("form", { class: "row", onsubmit: (e) => { e.preventDefault(); draw(); } }, wanted.map((at) => [
      h("label", { for: "value-" + at }, "$" + at),
      h("input", { id: "value-" + at, size: 12, value: shownPlan.values[at] || "", placeholder: "NULL", oninput: (e) => { shownPlan.values[at] = e.target.value; } })]),
      h("button", { type: "submit" }, "Plan with these values")),
    out);
};
