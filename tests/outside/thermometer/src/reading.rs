//! The thermometer's side.

use bertha::prelude::*;
use bertha::{Addr, Error};
use serde::{Deserialize, Serialize as Encode};

/// The reading of a thermometer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Deserialize)]
pub struct Reading {
    pub sensor: u32,
    /// The temperature, in thousandths of a kelvin.
    pub millikelvin: u32,
}

/// Sends readings. Returns the last answer, and the agreement of the two ends.
pub async fn report<S, D>(
    stack: &S,
    datapath: D,
    server: Addr,
    readings: &[Reading],
) -> Result<(Reading, String), Error>
where
    S: Negotiate,
    D: Runs<S, Out: Connection<Data = Reading>>,
{
    let connection = stack.connect(datapath, server).await?;
    let mut answer = Reading::default();
    for reading in readings {
        connection.send(*reading).await?;
        answer = connection.recv().await?;
    }
    let agreed = connection.explain().to_string();
    connection.close().await?;
    Ok((answer, agreed))
}
