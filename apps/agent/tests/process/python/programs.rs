//! Programs in Python that are wrong.

use super::{Python, beside_aimd};
use crate::agent::{Way, place};
use crate::flow::Transfer;

/// An algorithm whose program reads a variable that it does not define.
const DOES_NOT_COMPILE: &str = "
import aimd, portus

class Bad(aimd.Aimd):
    def datapath_programs(self):
        return {'a good one': aimd.PROGRAM, 'a bad one': '(def) (when true (:= Cwnd (+ Cwnd nowhere)))'}

portus.start('unix', Bad())
";

/// An algorithm that chooses a program which it does not have.
const CHOOSES_NOTHING: &str = "
import aimd, portus

class Flow(aimd.AimdFlow):
    def __init__(self, datapath, datapath_info):
        datapath.set_program('another')

class Chooses(aimd.Aimd):
    def new_flow(self, datapath, datapath_info):
        return Flow(datapath, datapath_info)

portus.start('unix', Chooses())
";

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_compile_is_named_and_the_flow_goes_on() {
    let (folder, socket) = place();
    let control = Way::Socket.control(&folder, &socket);
    let transfer = Transfer::begin(control.clone()).await;
    let Some(mut agent) = Python::run(&socket, &["-c", &beside_aimd(DOES_NOT_COMPILE)]) else { return };
    agent.prints(
        "ProgramError: the datapath program `a bad one` does not compile: clause 1: an operand of `add`",
    );
    assert_eq!(agent.child.wait().unwrap().code(), Some(1));
    assert!(!socket.exists(), "nobody listens");
    transfer.continues(500).await;
    let Some(mut agent) = Python::start(&socket, &["-c", &beside_aimd(CHOOSES_NOTHING)]) else { return };
    agent.prints("new_flow() has failed for flow 1");
    agent.prints("ProgramError: there is no program `another`");
    transfer.continues(500).await;
    assert_eq!(control.statistics().by_agent, 0);
    transfer.end().await;
}
