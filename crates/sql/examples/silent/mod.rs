//! A client that listens to nothing.

use onlap_sql::{Client, CopyData, Reply, Result};

/// Takes what it is sent, and forgets it.
#[derive(Default)]
pub struct Silent(pub Reply);

impl Client for Silent {
    fn reply(&mut self) -> &mut Reply {
        &mut self.0
    }
    fn send(&mut self) -> Result<()> {
        self.0.bytes().clear();
        Ok(())
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        Ok(CopyData::Done)
    }
}
