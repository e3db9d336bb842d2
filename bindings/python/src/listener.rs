//! Connecting and listening, as Python has them.

use crate::failure::Failure;
use crate::operation::{Operation, Shape, Work};
use crate::runtime;
use crate::server::Server;
use crate::task::Task;
use bertha_named::{Listening, Options, Stack, Transport};
use pyo3::prelude::*;
use std::sync::Arc;

/// Reads the names of a datapath and a stack, and settings by name.
pub(crate) fn read(
    datapath: &str,
    stack: &str,
    settings: &[(String, String)],
) -> Result<(Transport, Stack, Options), Failure> {
    let (datapath, stack) = (datapath.parse::<Transport>()?, stack.parse::<Stack>()?);
    Ok((datapath, stack, read_settings(settings)?))
}

fn read_settings(settings: &[(String, String)]) -> Result<Options, Failure> {
    let mut options = Options::of_lasting_runtime();
    for (name, value) in settings {
        options.set(name, value)?;
    }
    Ok(options)
}

/// Begins to connect.
#[pyfunction]
pub(crate) fn connect(
    datapath: &str,
    address: &str,
    stack: &str,
    settings: Vec<(String, String)>,
) -> PyResult<Operation> {
    runtime::handle()?;
    let options = read_settings(&settings)?;
    let connecting = bertha_named::connect(datapath, address, stack, options).map_err(Failure::from)?;
    let task = Task::begin(async { connecting.await.map_err(Failure::from) })?;
    Ok(Operation::new(Work::Connect(task.ends_with_operation()), Shape::Plain))
}

/// Listens.
#[pyfunction]
pub(crate) fn listen(
    py: Python<'_>,
    datapath: &str,
    address: &str,
    stack: &str,
    settings: Vec<(String, String)>,
) -> PyResult<Listener> {
    let runtime = runtime::handle()?;
    let (datapath, stack, options) = read(datapath, stack, &settings)?;
    let listening = Listening::new(stack, address, options);
    let listened = py.detach(|| runtime.block_on(datapath.run(listening))).map_err(Failure::from)?;
    Ok(Listener { server: Server::begin(listened)? })
}

/// A server. `async for` has its clients.
#[pyclass(frozen, weakref, module = "bertha")]
pub(crate) struct Listener {
    server: Arc<Server>,
}

impl Listener {
    fn accepting(&self, shape: Shape) -> Operation {
        let number = self.server.number();
        Operation::new(Work::Accept { from: self.server.clone(), number }, shape)
    }
}

#[pymethods]
impl Listener {
    /// The address at which the server listens.
    #[getter]
    fn address(&self) -> &str {
        &self.server.address
    }

    /// Waits for the next client.
    fn accept(&self) -> Operation {
        self.accepting(Shape::Plain)
    }

    /// Stops to listen. Connections with clients go on.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        runtime::handle()?;
        self.server.close();
        py.detach(|| self.server.until_free());
        Ok(())
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__(&self) -> Operation {
        self.accepting(Shape::Next)
    }
}

/// Names of the datapaths of this build.
#[pyfunction]
pub(crate) fn datapaths() -> Vec<&'static str> {
    Transport::ALL.iter().map(|transport| transport.name()).collect()
}

/// The names of Chunnels with their values, for human readers.
#[pyfunction]
pub(crate) fn chunnels() -> String {
    Stack::known()
}
