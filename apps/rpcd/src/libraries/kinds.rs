//! The kinds of engines that operators can name: built in, and loaded from libraries.

use crate::libraries::trial;
use bertha_core::{Error, ErrorKind};
use bertha_managed::EngineKind;
use bertha_managed::engines::built_in;
use bertha_managed::plugin::Plugin;
use parking_lot::Mutex;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The kinds of engines.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// The kinds that are loaded, in the order in which they came.
    loaded: Mutex<Vec<Loaded>>,
    /// The program that tries libraries.
    trials: Option<PathBuf>,
    /// The turns of trials, each of which is a process.
    turns: Semaphore,
}

/// Number of trials at once.
const TRIALS: usize = 4;

/// A version of a kind. Its library is open as long as there are engines of it, or it is the newest of its name.
#[derive(Debug)]
struct Loaded {
    version: Weak<Plugin>,
    newest: Option<Arc<Plugin>>,
}

impl Loaded {
    fn is_newest_of(&self, name: &str) -> bool {
        self.newest.as_ref().is_some_and(|kind| kind.name() == name)
    }
}

impl Kinds {
    /// Makes the kinds that are built in, and those to come of libraries, which a program tries first.
    pub(crate) fn new(trials: Option<PathBuf>) -> Self {
        Self { loaded: Mutex::default(), trials, turns: Semaphore::new(TRIALS) }
    }

    /// Loads a library, unless it ends the process of a trial.
    ///
    /// # Errors
    /// The errors of [`trial::judge`], [`Plugin::load`] and [`add`](Self::add).
    pub(crate) async fn load(&self, path: &Path) -> Result<(), Error> {
        if let Some(program) = &self.trials {
            // The semaphore is never closed.
            let _turn = self.turns.acquire().await;
            trial::judge(program, path).await?;
        }
        let path = path.to_owned();
        // The system reads the file, and runs code of the library.
        let loading = spawn_blocking(move || Plugin::load(&path));
        self.add(loading.await.map_err(io::Error::other)??)
    }

    /// Returns the kind of a name; the newest version of one that was loaded.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) with the names that there are.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<dyn EngineKind>, Error> {
        if let Some(found) = built_in().into_iter().find(|kind| kind.name() == name) {
            return Ok(found);
        }
        let kinds = self.loaded.lock();
        let mut loaded = kinds.iter().filter_map(|kind| kind.newest.as_ref());
        if let Some(found) = loaded.clone().find(|kind| kind.name() == name) {
            return Ok(Arc::clone(found) as Arc<dyn EngineKind>);
        }
        let names: Vec<_> = built_in().iter().map(|kind| kind.name().to_owned()).collect();
        let mut what = format!("there is no engine {name}; those that are built in are {}", names.join(", "));
        if let Some(first) = loaded.next() {
            let loaded: Vec<_> = [first].into_iter().chain(loaded).map(|kind| kind.name()).collect();
            // A text takes whatever is written to it.
            let _written = write!(what, ", and those that are loaded {}", loaded.join(", "));
        }
        Err(Error::new(ErrorKind::Invalid, what))
    }

    /// Adds a kind, or a version of one that takes the place of an earlier version for engines to come.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if an engine of this name is built in.
    fn add(&self, kind: Plugin) -> Result<(), Error> {
        if built_in().iter().any(|built_in| built_in.name() == kind.name()) {
            let what =
                format!("{} is not loaded: an engine {} is built in", kind.path().display(), kind.name());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let kind = Arc::new(kind);
        let mut kinds = self.loaded.lock();
        kinds
            .iter_mut()
            .filter(|known| known.is_newest_of(kind.name()))
            .for_each(|known| known.newest = None);
        kinds.retain(|known| known.version.strong_count() > 0);
        kinds.push(Loaded { version: Arc::downgrade(&kind), newest: Some(kind) });
        Ok(())
    }

    /// Takes a loaded kind away.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if none of this name is loaded.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        let mut kinds = self.loaded.lock();
        let place = kinds.iter().position(|kind| kind.is_newest_of(name));
        let place = place.ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("no engine {name} is loaded from a library"))
        })?;
        kinds.remove(place);
        Ok(())
    }

    /// Returns a line for each version that is open, with tabs: the name of its kind, and the path from which it was loaded.
    pub(crate) fn list(&self) -> String {
        let open: Vec<_> = self.loaded.lock().iter().filter_map(|kind| kind.version.upgrade()).collect();
        open.iter().map(|kind| format!("{}\t{}\n", kind.name(), kind.path().display())).collect()
    }
}
