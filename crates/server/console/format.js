// How are numbers shown? With as many digits as they are worth, and their unit.
const NONE = "–";
const num = (text) => (text === null || text === undefined ? null : Number(text));
const digits = (n) => {
  const a = Math.abs(n);
  const places = a === 0 || a >= 100 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : 3;
  return Number(n.toFixed(places)).toLocaleString("en-US", { maximumFractionDigits: places });
};
const scaled = (n, step, units) => {
  if (n === null || n === undefined || Number.isNaN(n)) return [NONE, ""];
  let at = 0;
  while (Math.abs(n) >= step * 0.9995 && at < units.length - 1) { n /= step; at += 1; }
  return [digits(n), units[at]];
};
const join = ([text, unit]) => (unit ? text + "\u00a0" + unit : text);
const countOf = (n) => scaled(n, 1000, ["", "k", "M", "G", "T"]);
const bytesOf = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const nsOf = (n) => (n === 0 ? ["0", "s"] : scaled(n, 1000, ["ns", "µs", "ms", "s"]));
const whole = (n) => (n === null || n === undefined ? NONE : Number(n).toLocaleString("en-US"));
const count = (n) => countOf(n).join("");
const bytes = (n) => join(bytesOf(n));
const ns = (n) => join(nsOf(n));
const us = (n) => (n === null ? NONE : ns(n * 1000));
const ms = (n) => (n === null ? NONE : ns(n * 1e6));
const percent = (n) => (n === null || n === undefined || Number.isNaN(n) ? NONE : digits(100 * n) + "\u00a0%");
const ago = (text, now) => {
  if (!text) return "never";
  const at = Date.parse(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"));
  const seconds = Math.max(0, (now - at) / 1000);
  if (Number.isNaN(seconds)) return text;
  if (seconds < 90) return Math.round(seconds) + "\u00a0s ago";
  if (seconds < 5400) return Math.round(seconds / 60) + "\u00a0min ago";
  if (seconds < 129600) return Math.round(seconds / 3600) + "\u00a0h ago";
  return Math.round(seconds / 86400) + "\u00a0days ago";
};
