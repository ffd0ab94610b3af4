// How does the page ask the server? By statements that look, and nothing else.
const DATABASES = "select datname from pg_database where datallowconn order by datname";
const state = { role: null, database: "postgres", version: "", failed: null };

class Refused extends Error {
  constructor(said, status) {
    super(said.message || "the server refused");
    Object.assign(this, said);
    this.status = status;
  }
}
const ask = async (path, body, signal) => {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Onlap": "console" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, { ...options, signal, credentials: "same-origin", cache: "no-store" });
  if (!(answer.headers.get("content-type") || "").startsWith("application/json")) {
    throw new Refused({ message: (await answer.text()).trim() }, answer.status);
  }
  const json = await answer.json();
  if (!answer.ok) throw new Refused(json.error || {}, answer.status);
  return json;
};
const run = async (statements, signal) => {
  const sent = statements.map((one) => (typeof one === "string" ? { sql: one } : one));
  try {
    return (await ask("/api/query", { database: state.database, statements: sent }, signal)).results;
  } catch (e) {
    if (e.status === 401) { state.role = null; start(true); }
    throw e;
  }
};
// Rows as objects, for statements that are the page's own.
const rowsOf = (result) => {
  if (result.error) throw new Refused(result.error, 200);
  const names = result.columns.map((column) => column.name);
  return result.rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
};
const look = async (statements, signal) => (await run(statements, signal)).map(rowsOf);

const logIn = async (role, password) => {
  const first = scramFirst();
  const begun = await ask("/api/login", { role, first: "n,," + first.bare });
  if (begun.role) return begun.role;
  if (!window.crypto || !crypto.subtle) {
    throw new Error("This browser proves passwords over TLS or on localhost alone. Open the page by https://.");
  }
  const proof = await scramLast(password, first, begun.first);
  const ended = await ask("/api/proof", { id: begun.id, last: proof.last });
  if (ended.last !== proof.expects) throw new Error("The server does not know the password: it may be another server.");
  return ended.role;
};
