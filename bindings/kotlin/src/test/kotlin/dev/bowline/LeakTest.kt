package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

class LeakTest {
    /** The number of sessions. Campaigns use `-Dbowline.cycles=2000`. */
    private val cycles = Integer.getInteger("bowline.cycles", 40)

    private fun status(field: String): Long {
        val line = Files.readAllLines(Path.of("/proc/self/status")).first { it.startsWith("$field:") }
        return line.filter(Char::isDigit).toLong()
    }

    /** The used heap in KiB after a collection. */
    private fun usedHeap(): Long {
        System.gc()
        return Runtime.getRuntime().run { totalMemory() - freeMemory() } / 1024
    }

    /** Whether no object is live, after the collector has released those of other tests. */
    private fun nothingIsLive(): Boolean {
        System.gc()
        return Bowline.counters() == LiveCounters(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u)
    }

    private suspend fun cycle() {
        session { session ->
            session.send("hello").use { it.waitUntilSettled() }
            session.until { it.results().isNotEmpty() }
        }
    }

    @Test
    fun `cancelled reader stops in the library`() = runTest {
        session { session ->
            session.send("hello").use { it.waitUntilSettled() }
            repeat(20) {
                val reader = launch { session.changes().collect { } }
                eventually("a read is pending") { Bowline.counters().pendingReads == 1uL }
                reader.cancelAndJoin()
                eventually("no read is pending") { Bowline.counters().pendingReads == 0uL }
            }
            eventually("no stream is live") { Bowline.counters().streams == 0uL }
        }
        eventually("nothing is live") { nothingIsLive() }
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.MINUTES)
    fun `memory and threads do not grow with sessions`() = runBlocking {
        repeat(20) { cycle() }
        eventually("nothing is live") { nothingIsLive() }
        val (memory, heap, threads) = Triple(status("VmRSS"), usedHeap(), status("Threads"))
        repeat(cycles) { cycle() }
        eventually("nothing is live") { nothingIsLive() }
        var heapGrowth = Long.MAX_VALUE
        // JNA releases its objects on a thread of its own after a collection.
        eventually("the heap does not grow") { (usedHeap() - heap).also { heapGrowth = it } < 4 * 1024 }
        val growth = status("VmRSS") - memory
        println("after $cycles sessions: RSS change $growth KiB, heap change $heapGrowth KiB, thread change ${status("Threads") - threads}")
        assertTrue(growth < 48 * 1024, "RSS change $growth KiB")
        assertTrue(status("Threads") <= threads + 4, "${status("Threads")} threads, $threads before")
    }

    @Test
    fun `closing handles releases the session`() = runTest {
        val session = engine.start(configuration())
        val stream = session.changeStream()
        stream.next(0u, 10u, 0u)
        // The collector closes handles in the same way.
        session.close()
        stream.close()
        eventually("nothing is live") { nothingIsLive() }
    }
}
