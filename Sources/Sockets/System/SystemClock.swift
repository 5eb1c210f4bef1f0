internal import CLinux
package import Coding
internal import Glibc

package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Timestamp {
        var time = timespec()
        // CLOCK_REALTIME cannot fail on Linux; the zero left by a failure would be 1970, when nothing is valid.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
