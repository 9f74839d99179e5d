/** As HOME: nothing can be written below it, not even by root, so that no run finds what another one kept. */
export const noHome = "/dev/null";
