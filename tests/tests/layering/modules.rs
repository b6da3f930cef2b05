//! The modules of each crate depend on each other in one direction.
//!
//! A module depends on another one if its code names a path into it; re-exports are followed to the
//! module of the item. Tests do not count, and neither does what a module takes from its ancestors,
//! whose items are visible in all modules below them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// Path of a module inside its crate.
type Module = Vec<String>;

#[derive(Default)]
struct Crate {
    /// The paths that each module names, as they are written.
    uses: BTreeMap<Module, Vec<Module>>,
    /// What each module re-exports: the name to the path.
    exports: BTreeMap<(Module, String), Module>,
    /// The module that is being read.
    current: Module,
}

#[test]
fn modules_depend_in_one_direction() {
    let folders = fs::read_dir(super::root().join("crates")).expect("the crates are there");
    let sources = folders.map(|folder| folder.expect("an entry").path().join("src"));
    let circles = sources.flat_map(|source| {
        ["lib.rs", "main.rs"].map(|name| {
            let mut read = Crate::default();
            read.file(&source.join(name), &source);
            Some(format!("{}: {}", source.display(), read.circle()?))
        })
    });
    let circles: Vec<_> = circles.flatten().collect();
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn circle_is_found_through_re_export() {
    let mut read = Crate::default();
    let read_as = |read: &mut Crate, module: &[&str], text| {
        read.current = module.iter().map(|name| (*name).to_owned()).collect();
        read.uses.insert(read.current.clone(), Vec::new());
        read.visit_file(&syn::parse_file(text).expect("code"));
    };
    read_as(&mut read, &[], "pub use b::{inner::Deep, B as Named};");
    read_as(&mut read, &["b"], "pub struct B;");
    read_as(&mut read, &["b", "inner"], "pub struct Deep(crate::a::A);");
    read_as(
        &mut read,
        &["a"],
        "use crate::{Deep, other::*}; #[cfg(test)] mod tests { use crate::b; }",
    );
    assert_eq!(read.circle().as_deref(), Some("a -> b::inner -> a"));
    read_as(&mut read, &["a"], "use super::Named;");
    assert_eq!(read.circle(), None);
}

impl Crate {
    /// Reads a file and its submodules, which are in `folder`.
    fn file(&mut self, path: &Path, folder: &Path) {
        let Ok(text) = fs::read_to_string(path) else {
            return;
        };
        let file = syn::parse_file(&text).expect("it compiles");
        self.uses.entry(self.current.clone()).or_default();
        for item in &file.items {
            if let syn::Item::Mod(ItemMod {
                ident,
                content: None,
                attrs,
                ..
            }) = item
                && !attrs.iter().any(is_test)
            {
                let name = ident.to_string();
                self.current.push(name.clone());
                self.file(
                    &folder.join(&name).with_extension("rs"),
                    &folder.join(&name),
                );
                self.current.pop();
            }
        }
        self.visit_file(&file);
    }

    fn leaves(&mut self, tree: &UseTree, path: &Module, is_export: bool) {
        let with = |name: &syn::Ident| {
            let name = Some(name.to_string()).filter(|name| name != "self" || path.is_empty());
            path.iter().cloned().chain(name).collect::<Module>()
        };
        let (path, name) = match tree {
            UseTree::Path(tree) => return self.leaves(&tree.tree, &with(&tree.ident), is_export),
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.leaves(tree, path, is_export));
            }
            UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            UseTree::Rename(tree) => (with(&tree.ident), tree.rename.to_string()),
            UseTree::Glob(_) => (path.clone(), "*".to_owned()),
        };
        match is_export {
            true => drop(self.exports.insert((self.current.clone(), name), path)),
            false => self
                .uses
                .entry(self.current.clone())
                .or_default()
                .push(path),
        }
    }

    /// Returns the module of the item that a path in `module` names; `None` in another crate.
    fn owner(&self, module: &[String], path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let below = [module, path].concat();
        let mut path = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [module, rest].concat(),
            "super" => {
                let (_, parent) = module.split_last()?;
                let is_higher = rest.first().is_some_and(|next| next == "super");
                return self.owner(
                    parent,
                    &[&["self".to_owned()][usize::from(is_higher)..], rest].concat(),
                );
            }
            _ if self.uses.contains_key(&below[..=module.len()]) => below,
            _ => return None,
        };
        let known = (0..=path.len())
            .rev()
            .find(|at| self.uses.contains_key(&path[..*at]))?;
        let rest = path.split_off(known);
        let export = rest
            .first()
            .and_then(|name| self.exports.get(&(path.clone(), name.clone())));
        let followed = export.and_then(|to| self.owner(&path, &[to, &rest[1..]].concat()));
        Some(followed.unwrap_or(path))
    }

    /// Returns a circle of modules, if there is any.
    fn circle(&self) -> Option<String> {
        let mut done = BTreeSet::new();
        self.uses
            .keys()
            .find_map(|start| self.follow(start, &mut Vec::new(), &mut done))
    }

    fn follow(
        &self,
        module: &Module,
        path: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<String> {
        if let Some(at) = path.iter().position(|it| it == module) {
            let circle = path[at..].iter().chain([module]).map(|it| it.join("::"));
            return Some(circle.collect::<Vec<_>>().join(" -> "));
        }
        if !done.insert(module.clone()) {
            return None;
        }
        path.push(module.clone());
        let owners = self.uses[module]
            .iter()
            .filter_map(|it| self.owner(module, it));
        let owners: BTreeSet<_> = owners.filter(|owner| !module.starts_with(owner)).collect();
        let found = owners
            .iter()
            .find_map(|owner| self.follow(owner, path, done));
        path.pop();
        found
    }
}

impl Visit<'_> for Crate {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        let is_export = !matches!(item.vis, Visibility::Inherited);
        self.leaves(&item.tree, &Module::new(), is_export);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let names: Module = names.collect();
        if names.len() > 1 {
            self.uses
                .entry(self.current.clone())
                .or_default()
                .push(names);
        }
        visit::visit_path(self, path);
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    attribute.path().is_ident("cfg") && list.is_ok_and(|it| it.tokens.to_string().contains("test"))
}
