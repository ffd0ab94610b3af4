// Which page is shown, for whom, and when does it look again?
const pages = [ledger, rates, runsPage, statementsPage, memoryPage, sqlPage];
const EVERY = 2000;
let timer = 0;
let loading = null;
let data = null;
const current = () => pages.find((page) => "#" + page.id === location.hash) || pages[0];

// Draws anew and leaves focus, scrolled tables and what a person has open as they are.
const redraw = (parent, children) => {
  const focusable = () => [...parent.querySelectorAll("a,button,input,select,textarea,summary,[tabindex]")];
  const focused = focusable().indexOf(document.activeElement);
  const scrolled = [...parent.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  show(parent, children);
  [...parent.querySelectorAll(".scroll")].forEach((box, at) => { box.scrollLeft = scrolled[at] || 0; });
  if (focused >= 0 && focusable()[focused]) focusable()[focused].focus({ preventScroll: true });
};
const draw0 = () => {
  const page = current();
  if (data === null && !page.quiet) return;
  redraw($("page"), page.draw(data, async () => draw0()));
};
const refresh = async () => {
  clearTimeout(timer);
  const page = current();
  if (!state.role) return;
  if (document.hidden) { timer = setTimeout(refresh, EVERY); return; }
  if (loading) loading.abort();
  const mine = new AbortController();
  loading = mine;
  try {
    const loaded = await page.load(mine.signal);
    if (loading !== mine || page !== current()) return;
    data = loaded;
    show($("said"));
    if (!typing()) draw0();
    document.body.dataset.shown = page.id;
  } catch (e) {
    if (e.name === "AbortError" || loading !== mine) return;
    const why = e instanceof Refused ? e.message : "The server does not answer.";
    show($("said"), h("p", { class: "note bad", role: "alert" }, why, " The page goes on asking."));
  }
  if (page.quiet) return;
  // The lines of the rates want a second look soon.
  timer = setTimeout(refresh, page === rates && samples.length < 3 ? 700 : EVERY);
};
// Nothing is drawn anew under the hands of a person who writes.
const typing = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement ? document.activeElement.tagName : "") && $("page").contains(document.activeElement);

const go = () => {
  const page = current();
  document.title = page.title + " · Onlap";
  data = null;
  delete document.body.dataset.shown;
  show($("nav"), pages.map((one) => h("a", { href: "#" + one.id, "aria-current": one === page ? "page" : null }, one.nav)));
  show($("main"), h("h1", null, page.title), h("p", { class: "lead" }, page.lead), h("div", { id: "said" }), h("div", { id: "page" }));
  if (page.quiet) draw0(); else show($("page"), h("section", null, empty("Asking…")));
  const shown = $("nav").querySelector("[aria-current]");
  if (shown) shown.scrollIntoView({ block: "nearest", inline: "nearest" });
  refresh();
};

const enter = async (role) => {
  state.role = role;
  show($("who"), h("span", { class: "role", title: role }, role), h("button", { type: "button", onclick: leave }, "Log out"));
  show($("foot"), h("span", null, "Onlap " + state.version), h("span", { id: "databases" }), h("span", null, "Read-only. Nothing here leaves this server."));
  go();
  try {
    const [all] = await look([DATABASES]);
    if (all.length > 1) {
      const choice = h("select", { id: "database", onchange: (e) => { state.database = e.target.value; samples.length = 0; go(); } },
        all.map((d) => h("option", { value: d.datname, selected: d.datname === state.database }, d.datname)));
      show($("databases"), h("span", { class: "row" }, h("label", { for: "database" }, "Database"), choice));
    } else show($("databases"), h("span", null, "Database " + state.database));
  } catch (e) { /* The page itself tells what is wrong. */ }
};
const leave = async () => {
  try { await ask("/api/logout", {}); } catch (e) { /* Over is over. */ }
  state.role = null;
  start(true);
};
const loginForm = (first, why) => {
  clearTimeout(timer);
  document.title = "Log in · Onlap";
  show($("nav")); show($("who")); show($("foot"), h("span", null, "Onlap " + state.version));
  const role = h("input", { id: "role", name: "username", autocomplete: "username", autocapitalize: "off", spellcheck: "false", required: true, value: first });
  const password = h("input", { id: "password", name: "password", type: "password", autocomplete: "current-password" });
  const said = h("div", { role: "alert" }, why && h("p", { class: "note" }, why));
  const button = h("button", { type: "submit", class: "first" }, "Log in");
  const submit = async (e) => {
    e.preventDefault();
    button.disabled = true;
    try {
      const name = await logIn(role.value, password.value);
      password.value = "";
      await enter(name);
    } catch (error) {
      button.disabled = false;
      show(said, h("p", { class: "note bad" }, error.message));
      password.select();
    }
  };
  show($("main"), h("section", { class: "login" }, h("h1", null, "Log in"), h("p", { class: "lead" }, "A role of the database. The password stays in this browser."), said,
    h("form", { onsubmit: submit }, h("div", { class: "field" }, h("label", { for: "role" }, "Role"), role),
      !state.trusts && h("div", { class: "field" }, h("label", { for: "password" }, "Password"), password), button)));
  document.body.dataset.shown = "login";
  (first && !state.trusts ? password : role).focus();
};
const start = async (asked) => {
  try {
    const known = await ask("/api/session");
    state.version = known.version;
    state.trusts = known.trusts;
    if (known.role) { await enter(known.role); return; }
    // Every user of this machine is trusted as long as no role has a password.
    if (known.trusts && !asked) { await enter(await logIn(known.first_role, "")); return; }
    loginForm(known.first_role, asked === true && !known.trusts ? null : null);
  } catch (e) {
    show($("main"), h("p", { class: "note bad", role: "alert" }, e.message));
  }
};
let narrowed = 0;
window.addEventListener("resize", () => { clearTimeout(narrowed); narrowed = setTimeout(() => { if (state.role && !typing() && !current().quiet) draw0(); }, 150); });
window.addEventListener("hashchange", () => { if (state.role) { go(); $("main").focus({ preventScroll: true }); } });
document.addEventListener("visibilitychange", () => { if (!document.hidden && state.role) refresh(); });
start(false);
