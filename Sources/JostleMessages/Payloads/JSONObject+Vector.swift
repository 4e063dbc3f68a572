package import Documents
package import MotionCore

extension JSONObject {
    /// Adds an array of vectors, each an array of three, or nothing if a component is not finite.
    package mutating func add(_ name: String, _ vectors: [Vector3], decimals: Int) {
        add(name, vectors.map { [$0.x, $0.y, $0.z] }, decimals: decimals)
    }

    /// Adds a vector as an array of three numbers.
    package mutating func add(_ name: String, _ vector: Vector3, decimals: Int) {
        add(name, [vector.x, vector.y, vector.z], decimals: decimals)
    }
}
