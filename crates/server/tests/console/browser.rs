//! A headless Chromium that does what a test says, over its debugging pipe (Chrome DevTools Protocol): no port, no driver,
//! nothing to install but the browser.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use onlap_testkit::programs;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What installs the browser.
pub const NEEDED: [(&str, &str); 1] = [("chromium", "apt-get install chromium")];

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// What the browser told unasked.
    pub events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    /// A browser, with a profile of its own.
    pub fn start() -> Browser {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let browser = programs::find("chromium").expect("it was looked for");
        // The browser reads its orders from descriptor 3 and answers at 4.
        let line = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", line])
            .arg(browser)
            .args(["--headless=new", "--no-sandbox", "--remote-debugging-pipe"])
            .args(["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-extensions", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut browser = Browser {
            child,
            to,
            from,
            session: String::new(),
            next: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        let made = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = json!({"targetId": made["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attached);
        browser.session = attached["sessionId"].as_str().expect("a session").to_string();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks for something, and waits for the answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut order = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        let mut text = order.to_string().into_bytes();
        text.push(0);
        self.to.write_all(&text).expect("the browser lives");
        loop {
            let told = self.told();
            if told["id"] == self.next {
                assert!(told["error"].is_null(), "{method}: {}", told["error"]);
                return told["result"].clone();
            }
            self.events.push_back(told);
        }
    }

    fn told(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser lives");
        bytes.pop();
        serde_json::from_slice(&bytes).expect("the browser speaks JSON")
    }

    /// What an expression of the page is.
    pub fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let told = self.call("Runtime.evaluate", params);
        assert!(told["exceptionDetails"].is_null(), "{script}: {}", told["exceptionDetails"]);
        told["result"]["value"].clone()
    }

    /// Waits until an expression of the page is true.
    pub fn wait(&mut self, script: &str) {
        let begun = Instant::now();
        while self.eval(script) != true {
            if begun.elapsed() > PATIENCE {
                let text = self.eval("document.body.innerText");
                panic!("it never came: {script}\n{text}\n{:#?}", self.told_of().0);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Goes to an address, anew.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.wait("location.href == 'about:blank'");
        self.call("Page.navigate", json!({"url": url}));
        self.wait(&format!("location.href == {} && document.readyState == 'complete'", json!(url)));
    }

    /// Makes the window so wide.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Lets the system be light or dark.
    pub fn scheme(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ => panic!("{key} is not known here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut press = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code
            });
            if kind == "keyDown" && !text.is_empty() {
                press["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", press);
        }
    }

    /// Writes a picture of the whole page where `ONLAP_SHOTS` names a folder.
    pub fn shoot(&mut self, name: &str) {
        use base64::Engine as _;
        let Some(folder) = std::env::var_os("ONLAP_SHOTS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        let data = shot["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        let path = std::path::Path::new(&folder).join(format!("{name}.png"));
        std::fs::write(path, bytes).expect("the folder is there");
    }

    /// Errors that the browser told of since the last time, and addresses that pages asked for.
    pub fn told_of(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut errors, mut asked) = (Vec::new(), Vec::new());
        for event in self.events.drain(..) {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => errors.push(params.to_string()),
                "Runtime.consoleAPICalled" if params["type"] == "error" => {
                    errors.push(params.to_string());
                }
                "Log.entryAdded" if params["entry"]["level"] == "error" => {
                    errors.push(params.to_string());
                }
                "Network.requestWillBeSent" => {
                    asked.push(params["request"]["url"].as_str().unwrap_or_default().to_string());
                }
                _ => {}
            }
        }
        (errors, asked)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends its own processes when it is asked to.
        let order = json!({"id": 0, "method": "Browser.close"}).to_string();
        let _ = self.to.write_all(&[order.as_bytes(), b"\0"].concat());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
