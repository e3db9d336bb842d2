//! A kind of engine of a library.

use super::engine::Loaded;
use super::library::Library;
use super::{file, library};
use crate::{Binding, Engine, EngineKind, Parts, Settings, Unsuitable};
use bertha_core::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A kind of engine that a shared library has. The library stays open as long as this or an engine of it lives.
#[derive(Debug)]
pub struct Plugin {
    library: Arc<Library>,
    path: PathBuf,
}

impl Plugin {
    /// Opens a library. Its code is trusted as that of this process is, and so only root and the user of the process may be able to write the
    /// file. What is opened is a copy: later changes of the file change nothing, and the file can be loaded again as another version.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) with the path and the reason if the path is not absolute, if others may write the file, and
    /// if it is no library of an engine of this version of the interface. The errors of the system.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let copy = file::copy(path)?;
        let library = library::Library::open(copy).map_err(|what| file::invalid(path, &what))?;
        Ok(Self { library: Arc::new(library), path: path.to_owned() })
    }

    #[cfg(test)]
    pub(super) fn open(&self) -> std::sync::Weak<Library> {
        Arc::downgrade(&self.library)
    }

    /// Returns the path from which the library was loaded.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl EngineKind for Plugin {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let engine = self.library.make(&settings.to_string(), binding)?;
        Ok(Box::new(Loaded::new(engine, binding)?))
    }

    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        if parts.version == 0 {
            return Err(Unsuitable::new(format!("the state of {} was lost", self.name())));
        }
        let engine = self.library.restore(parts.version, &parts.state, binding)?;
        let mut engine = Loaded::new(engine, binding)?;
        engine.take_over(&mut parts.held);
        Ok(Box::new(engine))
    }
}
