// Tests: the library itself, LogSink
package dev.bowline

import com.sun.jna.Memory
import java.util.concurrent.CopyOnWriteArrayList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class LibraryTest {
    @Test
    fun `library reports version and containment`() {
        Bowline.engine()
        assertEquals(21u, apiRevision())
        assertEquals("0.1.0", libraryVersion())
        assertTrue(probeContainment().level in setOf("group", "subreaper", "cgroup"))
        assertTrue(liveCounters().recordings == 0uL)
    }

    @Test
    fun `calls leave no memory to the garbage collector`() {
        Bowline.engine()
        val allocated = Memory::class.java.getDeclaredField("allocatedMemory").apply { isAccessible = true }
        fun count(): Int = (allocated.get(null) as Map<*, *>).size
        apiRevision() // the first call of a thread keeps its memory for the next one
        val before = count()
        repeat(1_000) { apiRevision() }
        // A collection meanwhile may release other memory, but not 1,000 structures that are in use.
        assertTrue(count() < before + 500, "$before, then ${count()}")
    }

    @Test
    fun `log lines arrive on daemon threads with their session`() = runTest {
        val lines = CopyOnWriteArrayList<LogLine>()
        val daemons = CopyOnWriteArrayList<Boolean>()
        Bowline.log(LogLevel.TRACE) {
            daemons += Thread.currentThread().isDaemon
            lines += it
            error("thrown by the sink")
        }
        val id = session {
            it.send("hello").waitUntilSettled()
            it.id()
        }
        eventually("lines of the session") { lines.any { it.session == id } }
        assertTrue(lines.all { it.level <= LogLevel.TRACE && it.text.isNotEmpty() })
        assertTrue(daemons.all { it })
        Bowline.stopLogging()
        setLogging(LogLevel.OFF)
    }

    @Test
    fun `panic becomes an exception`() = runTest {
        for (location in PanicLocation.entries) {
            val error = assertThrowsBowline<BowlineException.Internal> { forcePanic(location) }
            assertTrue("forced by the host" in error.reason, error.reason)
        }
    }
}
