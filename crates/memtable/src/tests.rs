//! Does the memtable do what a plain list of rows and marks does?

mod fixture;
mod lists;
mod model;
mod parts;
mod stories;
