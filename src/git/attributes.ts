/**
 * Content of `info/attributes`, which outranks every `.gitattributes` of the repository: no filter runs, bytes on the disk
 * equal the blob, and `-diff` hides no code.
 */
export const HARDENED_ATTRIBUTES = "* !filter !ident !text !eol !working-tree-encoding !diff !merge !crlf\n";
