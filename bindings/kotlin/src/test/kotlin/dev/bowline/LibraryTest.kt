// Tests: the library itself, LogSink
package dev.bowline

import java.util.concurrent.CopyOnWriteArrayList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class LibraryTest {
    @Test
    fun `the library says what it is`() {
        Bowline.engine()
        assertEquals(4u, apiRevision())
        assertEquals("0.1.0", libraryVersion())
        assertTrue(probeContainment().level in setOf("group", "subreaper", "cgroup"))
        assertTrue(liveCounters().recordings == 0uL)
    }

    @Test
    fun `log lines come to the host, from daemon threads, and a sink that throws does no harm`() = live {
        val lines = CopyOnWriteArrayList<LogLine>()
        val daemons = CopyOnWriteArrayList<Boolean>()
        Bowline.log(LogLevel.TRACE) {
            daemons += Thread.currentThread().isDaemon
            lines += it
            error("no room")
        }
        session { it.say("hello").settled() }
        eventually("lines") { lines.size > 1 }
        assertTrue(lines.all { it.level <= LogLevel.TRACE && it.text.isNotEmpty() })
        assertTrue(daemons.all { it })
        Bowline.stopLogging()
        setLogging(LogLevel.OFF)
    }

    @Test
    fun `a fault inside is an error`() = live {
        for (place in PanicPlace.entries) {
            val fault = refused<BowlineException.Internal> { forcePanic(place) }
            assertTrue("forced by the host" in fault.reason, fault.reason)
        }
    }
}
