/** For HOME: not even root can write below it, so no run finds files of another run. */
export const noHome = "/dev/null";
