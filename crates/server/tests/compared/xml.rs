//! xml on the wire: as a parameter and as a result, in both forms, alone and in arrays, and by COPY.

use crate::common::compared::{ask, each, is_as_postgresql, told};
use crate::common::framed;

/// `select $1::TYPE`, with a value in the form `format`, its result in the form `back`.
fn run(ty: &str, format: u8, value: &[u8], back: u8) -> Vec<Vec<u8>> {
    let sql = format!("select $1::{ty}");
    let parse = framed(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
    let length = (value.len() as i32).to_be_bytes();
    let head = [b"\0\0\0\x01\0", &[format][..], b"\0\x01", &length, value].concat();
    let bind = framed(b'B', &[&head[..], b"\0\x01\0", &[back]].concat());
    vec![parse, bind, framed(b'E', b"\0\0\0\0\0")]
}

const VALUES: &[&[u8]] = &[
    b"<a/>",
    b"",
    b"text",
    b"<a>",
    "<a>é</a>".as_bytes(),
    b"<?xml version=\"1.0\"?>\n<a/>",
    b"<?xml version=\"1.1\"?><a/>",
    b"<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>",
    b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\" standalone=\"yes\"?><a/>",
    b"<?xml version=\"1.0\" encoding=\"nosuch\"?><a/>",
];

#[test]
fn values_travel_as_with_postgresql() {
    is_as_postgresql(|wire, said| {
        for value in VALUES {
            for (format, back) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let answer = ask(wire, &run("xml", format, value, back));
                said.push(format!("{value:?} {format} {back}: {answer}"));
            }
        }
        let whole = [b"<?xml version='1.0'?><a/>".as_slice(), b"<?xml version='1.1'?><a/>"];
        for (format, value) in [(0, whole[0]), (1, whole[0]), (1, whole[1])] {
            said.push(ask(wire, &run("xml::text", format, value, 0)));
        }
        let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe9</a>";
        said.push(ask(wire, &run("xml", 1, latin, 0)));
        let item = b"<?xml version=\"1.0\"?><a/>";
        let head = [1, 0, 142, 1, 1, item.len() as i32].map(i32::to_be_bytes).concat();
        for back in [0, 1] {
            said.push(ask(wire, &run("xml[]", 1, &[&head[..], item].concat(), back)));
            said.push(ask(wire, &run("xml[]", 0, b"{<a/>,\"<?xml version='1.1'?><b/>\"}", back)));
        }
    });
}

#[test]
fn rows_are_copied_as_with_postgresql() {
    is_as_postgresql(|wire, said| {
        each(wire, said, &["create table x (id int, x xml, a xml[])"]);
        for data in [
            "1\t<a/>\t{<b/>}\n2\t\\N\t\\N\n3\ttext\t{}\n4\t<?xml version=\"1.1\"?><a/>\t{NULL,x}\n",
            "5\t<a>\t\\N\n",
            "6\t<a/>\t{<a>}\n",
        ] {
            wire.raw(&framed(b'Q', b"copy x from stdin\0"));
            wire.raw(&[framed(b'd', data.as_bytes()), framed(b'c', b"")].concat());
            said.push(told(&wire.until(b'Z')));
        }
        each(
            wire,
            said,
            &[
                "copy x to stdout",
                "copy x to stdout (format csv)",
                "copy (select x from x where id = 4) to stdout (format binary)",
                "select id, x::text, a::text from x order by id",
                "set xmloption = document",
            ],
        );
        wire.raw(&framed(b'Q', b"copy x from stdin\0"));
        wire.raw(&[framed(b'd', b"7\ttext\t\\N\n"), framed(b'c', b"")].concat());
        said.push(told(&wire.until(b'Z')));
        each(wire, said, &["select count(*) from x", "copy x to stdout"]);
    });
}
