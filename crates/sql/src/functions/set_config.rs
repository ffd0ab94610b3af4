//! set_config().
//!
//! A function cannot change its session, for plans run on other threads: what it asks for is noted
//! ([`Asked`]), and the session does it after the statement.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use parking_lot::Mutex;

use crate::error::{SqlError, state};
use crate::plan::scan::external;
use crate::rights::Judge;
use crate::settings;
use crate::view::View;

/// Settings that functions ask for: name, value, and whether for the transaction alone.
pub type Asked = Arc<Mutex<Vec<(String, String, bool)>>>;

struct SetConfig {
    asked: Asked,
    judge: Judge,
    session_role: u32,
    /// The role that connected.
    connected: u32,
    signature: Signature,
}

impl fmt::Debug for SetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for SetConfig {
    fn eq(&self, other: &SetConfig) -> bool {
        Arc::ptr_eq(&self.asked, &other.asked)
    }
}

impl Eq for SetConfig {}

impl Hash for SetConfig {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "set_config".hash(state);
    }
}

/// The function, for a session.
pub fn of_session(view: &View) -> Arc<ScalarUDF> {
    let (asked, judge) = (Arc::clone(&view.asked), view.judge.clone());
    let signature = Signature::any(3, Volatility::Volatile);
    let sessions = view.instance.sessions();
    let session_role = view.session_role;
    let own = sessions.iter().find(|session| session.key.pid == view.pid);
    let connected = own.map_or(session_role, |session| session.role);
    let made = SetConfig { asked, judge, session_role, connected, signature };
    Arc::new(ScalarUDF::new_from_impl(made))
}

impl SetConfig {
    /// Fails for what the session will not do: become a role, or set what its role may not.
    fn must_set(&self, setting: &str, name: &str) -> crate::error::Result<()> {
        let what = match setting {
            "role" if name == "none" => return Ok(()),
            "role" => "role",
            "session_authorization" => "session authorization",
            _ => return settings::may_be(setting, name, self.judge.is_superuser()),
        };
        let rights = self.judge.rights();
        let Some(role) = rights.role_named(name).map(|role| role.oid) else {
            let text = format!("role \"{name}\" does not exist");
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        };
        let may = match setting {
            "role" => self.judge.of(self.session_role).is_member(role),
            _ => role == self.connected || rights.is_superuser(self.connected),
        };
        match may {
            true => Ok(()),
            false => {
                let text = format!("permission denied to set {what} \"{name}\"");
                Err(SqlError::new(state::NO_PRIVILEGE, text))
            }
        }
    }
}

impl ScalarUDFImpl for SetConfig {
    fn name(&self) -> &str {
        "set_config"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [name, value, local] = &arrays[..] else {
            return exec_err!("set_config takes a name, a value, and whether it is local");
        };
        let (name, value) = (cast(name, &DataType::Utf8)?, cast(value, &DataType::Utf8)?);
        let local = cast(local, &DataType::Boolean)?;
        let (names, values) = (name.as_string::<i32>(), value.as_string::<i32>());
        let mut out = Vec::with_capacity(names.len());
        for row in 0..names.len() {
            if names.is_null(row) {
                return exec_err!("SET requires parameter name");
            }
            let value = if values.is_null(row) { "" } else { values.value(row) };
            let local = !local.is_null(row) && local.as_boolean().value(row);
            let name = names.value(row).to_lowercase();
            self.must_set(&name, value).map_err(external)?;
            self.asked.lock().push((name, value.to_string(), local));
            out.push(value.to_string());
        }
        match &out[..] {
            [one] => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(one.clone())))),
            _ => Ok(ColumnarValue::Array(Arc::new(StringArray::from(out)))),
        }
    }
}
