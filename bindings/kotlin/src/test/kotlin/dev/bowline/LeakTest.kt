package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

class LeakTest {
    /** 2,000 in a campaign (`-Dbowline.cycles=2000`), fewer each day. */
    private val cycles = Integer.getInteger("bowline.cycles", 40)

    private fun status(field: String): Long {
        val line = Files.readAllLines(Path.of("/proc/self/status")).first { it.startsWith("$field:") }
        return line.filter(Char::isDigit).toLong()
    }

    /** What is in use of the heap, in KiB. */
    private fun heap(): Long {
        System.gc()
        return Runtime.getRuntime().run { totalMemory() - freeMemory() } / 1024
    }

    /** What other tests forgot, the collector lets go of. */
    private fun atRest(): Boolean {
        System.gc()
        return Bowline.counters() == LiveCounters(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u)
    }

    private suspend fun cycle() {
        session { session ->
            session.say("hello").use { it.settled() }
            session.until { it.results().isNotEmpty() }
        }
    }

    @Test
    fun `a cancelled reader stops inside within 100 ms`() = live {
        session { session ->
            session.say("hello").use { it.settled() }
            repeat(20) {
                val reader = launch { session.batches().collect { } }
                eventually("a reader waits") { Bowline.counters().pulls == 1uL }
                reader.cancelAndJoin()
                eventually("no reader waits", 100.milliseconds) { Bowline.counters().pulls == 0uL }
            }
            eventually("no stream is left") { Bowline.counters().streams == 0uL }
        }
        eventually("nothing is left") { atRest() }
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.MINUTES)
    fun `nothing grows with the number of sessions`() = runBlocking {
        repeat(20) { cycle() }
        eventually("nothing is left") { atRest() }
        val (memory, heap, threads) = Triple(status("VmRSS"), heap(), status("Threads"))
        repeat(cycles) { cycle() }
        eventually("nothing is left") { atRest() }
        var kept = Long.MAX_VALUE
        // What one collection finds of JNA's, a thread of JNA lets go of behind it.
        eventually("the heap is as it was") { (heap() - heap).also { kept = it } < 4 * 1024 }
        val grown = status("VmRSS") - memory
        println("after $cycles sessions: $grown KiB more, of the heap $kept, ${status("Threads") - threads} threads more")
        assertTrue(grown < 48 * 1024, "$grown KiB more")
        assertTrue(status("Threads") <= threads + 4, "${status("Threads")} threads, $threads before")
    }

    @Test
    fun `what a host forgets is let go by the collector`() = live {
        val session = engine.start(configuration())
        val stream = session.changes()
        stream.next(0u, 10u, 0u)
        // Closing the handle is what the collector does.
        session.close()
        stream.close()
        eventually("nothing is left") { atRest() }
    }
}
