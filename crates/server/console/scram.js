// How is a password proved without sending it? SCRAM-SHA-256 (RFC 5802, RFC 7677), the client's side.
const utf8 = (text) => new TextEncoder().encode(text);
const base64 = (data) => btoa(String.fromCharCode(...new Uint8Array(data)));
const unbase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const hmac = async (key, data) => {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", made, data));
};
// As much of SASLprep as passwords meet: other blanks are blanks, and letters of several forms become one.
const prepared = (password) =>
  password.replace(/[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/g, " ")
    .replace(/[\u00ad\u034f\u1806\u180b-\u180d\u200c\u200d\u2060\ufe00-\ufe0f\ufeff]/g, "").normalize("NFKC");

const scramFirst = () => {
  const nonce = base64(crypto.getRandomValues(new Uint8Array(18)));
  return { bare: "n=,r=" + nonce, nonce };
};
const scramLast = async (password, first, answer) => {
  const part = (name) => {
    const found = answer.split(",").find((p) => p.startsWith(name + "="));
    if (!found) throw new Error("the server's answer is not SCRAM");
    return found.slice(2);
  };
  if (!part("r").startsWith(first.nonce)) throw new Error("the server's nonce is another");
  const key = await crypto.subtle.importKey("raw", utf8(prepared(password)), "PBKDF2", false, ["deriveBits"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt: unbase64(part("s")), iterations: Number(part("i")) };
  const salted = new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
  const clientKey = await hmac(salted, utf8("Client Key"));
  const stored = new Uint8Array(await crypto.subtle.digest("SHA-256", clientKey));
  const unproved = "c=biws,r=" + part("r");
  const message = utf8(first.bare + "," + answer + "," + unproved);
  const signature = await hmac(stored, message);
  const proof = clientKey.map((byte, at) => byte ^ signature[at]);
  const server = await hmac(await hmac(salted, utf8("Server Key")), message);
  return { last: unproved + ",p=" + base64(proof), expects: "v=" + base64(server) };
};
