//! The place of reports.

use crate::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Returns the directory `bench` in cargo's target directory: the directory that `CARGO_TARGET_DIR` names,
/// otherwise the directory that the running program was built into, otherwise `target` here.
pub(crate) fn of_reports() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").filter(|name| !name.is_empty()).map(PathBuf::from);
    let built = || std::env::current_exe().ok().and_then(|program| holding(&program));
    named.or_else(built).unwrap_or_else(|| PathBuf::from("target")).join("bench")
}

/// Writes a file into this directory.
pub(super) fn write(name: &str, content: &[u8]) -> Result<(), Error> {
    let path = of_reports().join(name);
    std::fs::create_dir_all(of_reports())
        .and_then(|()| std::fs::write(&path, content))
        .map_err(Error::while_doing(ErrorKind::Report, format!("writing {}", path.display())))
}

/// Returns the outermost directory above `program` that cargo tagged as its own.
fn holding(program: &Path) -> Option<PathBuf> {
    program.ancestors().filter(|above| above.join("CACHEDIR.TAG").is_file()).last().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_directory_is_found_from_a_program_inside() {
        let root = std::env::temp_dir().join(format!("bertha-bench-{}", std::process::id()));
        let deep = root.join("target/release/deps");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(holding(&deep.join("program")), None);
        std::fs::write(root.join("target/CACHEDIR.TAG"), "").unwrap();
        assert_eq!(holding(&deep.join("program")), Some(root.join("target")));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
