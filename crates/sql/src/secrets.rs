//! What of a statement may be shown to others?
//!
//! CREATE and ALTER ROLE may have a password in clear. What is shown of a statement, in pg_stat_activity
//! and in the log, has stars in its place. A text that cannot be taken apart ends where the word stands.

use std::borrow::Cow;

use onlap_pg::grammar::{Keyword, Kind, Tokens};

const WORD: &str = "password";
const STARS: &str = "'********'";
/// Texts within texts that are looked into; those below are not shown.
const QUOTED: usize = 8;

/// A statement, or several, without passwords.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    within(text, 0)
}

fn within(text: &str, depth: usize) -> Cow<'_, str> {
    let Some(first) = text.to_ascii_lowercase().find(WORD) else { return Cow::Borrowed(text) };
    let tokens = Tokens::of(text);
    if tokens.error.is_some() {
        return Cow::Owned(format!("{}{WORD} …", &text[..first]));
    }
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, word) in tokens.all.iter().enumerate() {
        if word.kind == Kind::Text && word.start as usize >= from {
            // The body of a routine, or a statement that it runs.
            let inner = tokens.value(*word);
            if depth == QUOTED || matches!(within(inner, depth + 1), Cow::Owned(_)) {
                shown.push_str(&text[from..word.start as usize]);
                shown.push_str(STARS);
                from = word.end as usize;
            }
        }
        let Some(next) = tokens.all.get(at + 1) else { break };
        if word.kind != Kind::Word(Keyword::Password) {
            continue;
        }
        // PostgreSQL takes no N'…' there; what was meant to be secret is none the less.
        let secret = match next.kind {
            Kind::Text => Some(next),
            Kind::Name | Kind::Word(_) => tokens.all.get(at + 2).filter(|t| t.kind == Kind::Text),
            _ => None,
        };
        if let Some(secret) = secret {
            let start = text[secret.start as usize..].find(['\'', '$']).unwrap_or(0);
            shown.push_str(&text[from..secret.start as usize + start]);
            shown.push_str(STARS);
            from = secret.end as usize;
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[from..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::without_passwords;

    #[test]
    fn passwords_are_not_shown() {
        let shown = |text| without_passwords(text).into_owned();
        assert_eq!(
            shown("alter role a with encrypted Password 'x''y' login"),
            "alter role a with encrypted Password '********' login"
        );
        assert_eq!(
            shown("create user a password $$x$$; create user b password E'z'"),
            "create user a password '********'; create user b password E'********'"
        );
        assert_eq!(
            shown("select password from t where a = 'b'"),
            "select password from t where a = 'b'"
        );
        assert_eq!(shown("alter role a password N'x'"), "alter role a password N'********'");
        assert_eq!(shown("alter role a password null"), "alter role a password null");
        assert_eq!(shown("alter role a password 'open"), "alter role a password …");
        assert_eq!(
            shown("do $$ begin execute 'alter role a password ''x'''; end $$; select 'b'"),
            "do '********'; select 'b'"
        );
        assert_eq!(shown("select 'a password', 1"), "select 'a password', 1");
    }
}
