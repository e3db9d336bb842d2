//! What the kernel's program did: did it obey the agent?

use crate::{Error, ErrorKind};
use bertha_ccp_tcp::{TcpControl, TcpStatistics};

/// The least part of the acknowledgements at which the kernel has to obey.
const LEAST: f64 = 0.95;

/// The acknowledgements of all flows of a control from a time on.
pub(super) struct Obedience<'a> {
    control: &'a TcpControl,
    begin: TcpStatistics,
}

impl<'a> Obedience<'a> {
    /// Begins to count.
    pub(super) fn of(control: &'a TcpControl) -> Self {
        Self { control, begin: control.statistics() }
    }

    /// Checks that the kernel has obeyed since then.
    ///
    /// # Errors
    /// [`ErrorKind::Stalled`] if it has controlled flows itself, or there was nothing to obey.
    pub(super) fn check(&self) -> Result<(), Error> {
        let TcpStatistics { acks_obeyed, acks_alone, .. } = self.control.statistics();
        is_obedient(acks_obeyed - self.begin.acks_obeyed, acks_alone - self.begin.acks_alone)
    }
}

fn is_obedient(obeyed: u64, alone: u64) -> Result<(), Error> {
    let all = obeyed + alone;
    if all > 0 && obeyed as f64 >= LEAST * all as f64 {
        return Ok(());
    }
    let what = format!("the kernel obeyed the agent at {obeyed} of {all} acknowledgements");
    Err(Error::new(ErrorKind::Stalled, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_controls_flows_itself_or_has_none_is_told() {
        assert!(is_obedient(95, 5).is_ok());
        for (obeyed, alone) in [(0, 0), (0, 5), (94, 6)] {
            let told = is_obedient(obeyed, alone).unwrap_err().to_string();
            assert!(told.contains(&format!("{obeyed} of {}", obeyed + alone)), "{told}");
        }
    }
}
