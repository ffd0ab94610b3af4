use super::*;

fn read(text: &str) -> Result<Request<'_>, &'static str> {
    Request::read(text.as_bytes()).map_err(|answer| answer.status)
}

#[test]
fn a_request_is_read_as_it_stands() {
    let text = "POST /api/query?x=1 HTTP/1.1\r\nHost: a:1\r\nCookie: b=2; onlap-1=abc; c\r\n\
                content-length: 4\r\n\r\nbodymore";
    let request = read(text).expect("a request");
    assert_eq!((request.method, request.path, request.body), ("POST", "/api/query", &b"body"[..]));
    assert_eq!((request.header("HOST"), request.cookie("onlap-1")), (Some("a:1"), Some("abc")));
    assert_eq!((request.cookie("c"), request.header("origin")), (None, None));
}

#[test]
fn what_has_two_meanings_is_refused() {
    let with = |headers: &str| {
        let text = format!("POST / HTTP/1.1\r\n{headers}\r\n\r\nbody");
        Request::read(text.as_bytes()).err().map(|answer| answer.status)
    };
    assert_eq!(with("Content-Length: 4"), None);
    assert_eq!(with("Content-Length: 4\r\nContent-Length: 4"), Some("400 Bad Request"));
    for length in ["", "-1", "+4", "4 4", "0x4", "5"] {
        assert_eq!(with(&format!("Content-Length: {length}")), Some("400 Bad Request"), "{length}");
    }
    assert_eq!(with("Content-Length: 99999999999999999999"), Some("413 Content Too Large"));
    assert_eq!(with("Transfer-Encoding: chunked"), Some("501 Not Implemented"));
    let many = "a: b\r\n".repeat(HEADERS + 1);
    assert_eq!(with(many.trim_end()), Some("431 Request Header Fields Too Large"));
    let twice = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    assert_eq!(read(twice).expect("a request").header("host"), None);
}

#[test]
fn progress_knows_the_end_and_what_is_too_long() {
    let text = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
    for length in 0..text.len() {
        assert_eq!(progress(&text.as_bytes()[..length]), Progress::Incomplete, "{length} bytes");
    }
    assert_eq!(progress(text.as_bytes()), Progress::Whole);
    assert_eq!(progress(&vec![b'a'; HEAD_BYTES]), Progress::Incomplete);
    assert_eq!(progress(&vec![b'a'; HEAD_BYTES + 1]), Progress::Refused);
    assert_eq!(progress(b"\0\x01\r\n\r\n"), Progress::Refused);
}

/// Bytes of all kinds, and requests with a byte changed.
#[test]
fn nothing_panics() {
    let text = b"POST /api/query HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\nContent-Length: 2\r\n\r\n{}";
    for at in 0..text.len() {
        for byte in 0..=255 {
            let mut changed = text.to_vec();
            changed[at] = byte;
            progress(&changed);
            if let Ok(request) = Request::read(&changed) {
                request.cookie("a");
            }
        }
    }
}
